#include <caml/mlvalues.h>
int c_busy(int);
value busy_stub(value ms) { return Val_int(c_busy(Int_val(ms))); }
