# floors of copies host<->device, own and peer's (IPC) device, pageable and pinned; ctypes on libcuda
import ctypes as C, time, os, sys, statistics, threading, mmap
from multiprocessing import Process, Pipe
cu=C.CDLL("libcuda.so.1")
def ck(r,w=""):
    if r: raise SystemExit(f"{w} {r}")
class H(C.Structure): _fields_=[("b",C.c_char*64)]
def ctx(dev):
    ck(cu.cuInit(0)); d=C.c_int(); ck(cu.cuDeviceGet(C.byref(d),dev)); c=C.c_void_p()
    ck(cu.cuDevicePrimaryCtxRetain(C.byref(c),d)); ck(cu.cuCtxSetCurrent(c)); return c
N=64<<20
def alloc(n):
    p=C.c_uint64(); ck(cu.cuMemAlloc_v2(C.byref(p),C.c_size_t(n)),"alloc"); return p.value
def owner(conn,dev):
    ctx(dev); p=alloc(N); h=H(); ck(cu.cuIpcGetMemHandle(C.byref(h),C.c_uint64(p)),"get"); conn.send(bytes(bytearray(h))); conn.recv()
def med(f,n=7):
    f(); t=[]
    for _ in range(n):
        a=time.perf_counter(); f(); t.append(time.perf_counter()-a)
    return statistics.median(t)
def main():
    n=int(sys.argv[1]) if len(sys.argv)>1 else 2
    a,b=Pipe(); pr=Process(target=owner,args=(b,n-1)); pr.start(); raw=a.recv()
    ctx(0); own=alloc(N); h=H.from_buffer_copy(raw); q=C.c_uint64()
    cu.cuIpcOpenMemHandle_v2.argtypes=[C.POINTER(C.c_uint64),H,C.c_uint]
    ck(cu.cuIpcOpenMemHandle_v2(C.byref(q),h,1),"open"); peer=q.value
    st=C.c_void_p(); ck(cu.cuStreamCreate(C.byref(st),1))
    m=mmap.mmap(-1,N); m.write(b"\1"*N); page=C.addressof(C.c_char.from_buffer(m))
    pp=C.c_void_p(); ck(cu.cuMemHostAlloc(C.byref(pp),C.c_size_t(N),1)); pin=pp.value; C.memset(pin,1,N)
    pp2=C.c_void_p(); ck(cu.cuMemHostAlloc(C.byref(pp2),C.c_size_t(N),1)); pin2=pp2.value; C.memset(pin2,1,N)
    libc=C.CDLL(None); libc.memcpy.argtypes=[C.c_void_p,C.c_void_p,C.c_size_t]
    U=C.c_uint64;S=C.c_size_t
    def cp(dst,src,sz): ck(cu.cuMemcpyAsync(U(dst),U(src),S(sz),st)); ck(cu.cuStreamSynchronize(st))
    def blocks(dst,src,sz,b):
        for o in range(0,sz,b): ck(cu.cuMemcpyAsync(U(dst+o),U(src+o),S(min(b,sz-o)),st))
        ck(cu.cuStreamSynchronize(st))
    print("us for 64 KiB, 1 MiB, 4 MiB, 64 MiB (GB/s of the last)")
    for name,d,s in (("H2D own pinned",own,pin),("H2D own pageable",own,page),("H2D peer pinned",peer,pin),("H2D peer pageable",peer,page),("D2H own pinned",pin,own),("D2H own pageable",page,own),("D2H peer pinned",pin,peer),("D2H peer pageable",page,peer)):
        r=[med(lambda:cp(d,s,z))*1e6 for z in (64<<10,1<<20,4<<20,N)]
        print(f"{name:20}",*(f"{x:9.1f}" for x in r),f"{N/r[-1]/1e3:6.1f}",flush=True)
    for blk in (256<<10,1<<20,4<<20):
        for name,d,s in (("H2D peer pageable",peer,page),("D2H peer pageable",page,peer)):
            t=med(lambda:blocks(d,s,N,blk)); print(f"{name} in blocks of {blk>>10} KiB: {t*1e6:.0f} us {N/t/1e9:.1f} GB/s",flush=True)
    def mc(dst,src,n_threads):
        part=N//n_threads
        ts=[threading.Thread(target=libc.memcpy,args=(dst+i*part,src+i*part,part)) for i in range(n_threads)]
        [t.start() for t in ts];[t.join() for t in ts]
    for k in (1,2,4): t=med(lambda:mc(pin,page,k)); print(f"memcpy pageable->pinned, {k} threads: {t*1e6:.0f} us {N/t/1e9:.1f} GB/s",flush=True)
    def pipe(dst,k,blk=1<<20):   # CPU copy into pinned ring overlapped with H2D to peer
        part=blk//k
        for o in range(0,N,blk):
            if k==1: libc.memcpy(pin+o,page+o,blk)
            else:
                ts=[threading.Thread(target=libc.memcpy,args=(pin+o+i*part,page+o+i*part,part)) for i in range(k)]
                [t.start() for t in ts];[t.join() for t in ts]
            ck(cu.cuMemcpyAsync(U(dst+o),U(pin+o),S(blk),st))
        ck(cu.cuStreamSynchronize(st))
    for k in (1,2): t=med(lambda:pipe(peer,k)); print(f"pageable by own pinned blocks of 1 MiB, {k} threads, to peer: {t*1e6:.0f} us {N/t/1e9:.1f} GB/s",flush=True)
    a.send(0); pr.join()
if __name__=="__main__": main()
