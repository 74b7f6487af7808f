/* How a process library starts a program: fork, then execute. The copy of the page
   tables is made while the caller holds its domain's lock. */
#include <unistd.h>
#include <sys/wait.h>
#include <caml/mlvalues.h>

value fork_and_execute(value unit)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(127);
    }
    return Val_long(child);
}
