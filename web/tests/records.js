// Tiles as the server writes them, for the tests.
import { spansOf } from "../app/tiles.js";

/** Records as the server writes them: [from, to, count, kind, detail, share]. */
export function tileOf(items) {
  const buffer = new ArrayBuffer(items.length * 32), view = new DataView(buffer);
  items.forEach(([from, to, count = 1, kind = 1, detail = 0, share = 1], index) => {
    view.setFloat64(index * 32, from, true);
    view.setFloat64(index * 32 + 8, to, true);
    view.setUint32(index * 32 + 16, count, true);
    view.setUint16(index * 32 + 20, kind, true);
    view.setUint32(index * 32 + 24, detail, true);
    view.setFloat32(index * 32 + 28, share, true);
  });
  return spansOf(buffer);
}
