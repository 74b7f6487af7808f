"use strict";
// A button next to each text to paste. Without scripts, and where the browser gives pages no clipboard, the text can
// be selected.
if (navigator.clipboard) for (const place of document.querySelectorAll(".paste")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(place.firstElementChild.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not permitted: select it";
    }
  });
  place.append(button);
}
