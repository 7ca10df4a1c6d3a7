target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, ptr addrspace(1) %o) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %pa = getelementptr <2 x i16>, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr <2 x i16>, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr <2 x i16>, ptr addrspace(1) %c, i32 %i
  %x = load <2 x i16>, ptr addrspace(1) %pa
  %y = load <2 x i16>, ptr addrspace(1) %pb
  %z = load <2 x i16>, ptr addrspace(1) %pc
  %m = call <2 x i16> @llvm.smax.v2i16(<2 x i16> %x, <2 x i16> %y)
  %n = call <2 x i16> @llvm.smax.v2i16(<2 x i16> %m, <2 x i16> %z)
  store <2 x i16> %n, ptr addrspace(1) %o
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare <2 x i16> @llvm.smax.v2i16(<2 x i16>, <2 x i16>)
