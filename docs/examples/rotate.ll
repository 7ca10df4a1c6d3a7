; Every invocation stores a value, and loads that of its neighbour of the round before, while the
; workgroup is on its way to the barrier.
target triple = "amdgcn-amd-amdhsa"

@shared = internal addrspace(3) global [128 x i32] poison, align 4

define amdgpu_kernel void @rotate(ptr addrspace(1) %from, ptr addrspace(1) %to, i32 %rounds)
    "amdgpu-flat-work-group-size"="64,64" !reqd_work_group_size !0 {
entry:
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %next = add i32 %id, 1
  %neighbour = and i32 %next, 63
  %some = icmp sgt i32 %rounds, 0
  br i1 %some, label %round, label %done

round:
  %number = phi i32 [ 0, %entry ], [ %number.next, %round ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %round ]
  %half = shl i32 %number, 6
  %half.64 = and i32 %half, 64
  %mine = or i32 %half.64, %id
  %theirs = or i32 %half.64, %neighbour
  %slot = getelementptr i32, ptr addrspace(3) @shared, i32 %mine
  %value = add i32 %id, %number
  store i32 %value, ptr addrspace(3) %slot
  call void @_Z33__spirv_ControlBarrierArriveINTELiii(i32 2, i32 2, i32 260)
  %at = getelementptr i32, ptr addrspace(1) %from, i32 %number
  %loaded = load i32, ptr addrspace(1) %at
  %scaled = mul i32 %loaded, %value
  call void @_Z31__spirv_ControlBarrierWaitINTELiii(i32 2, i32 2, i32 258)
  %slot.theirs = getelementptr i32, ptr addrspace(3) @shared, i32 %theirs
  %other = load i32, ptr addrspace(3) %slot.theirs
  %partial = add i32 %other, %scaled
  %sum.next = add i32 %sum, %partial
  %number.next = add i32 %number, 1
  %more = icmp slt i32 %number.next, %rounds
  br i1 %more, label %round, label %done

done:
  %result = phi i32 [ 0, %entry ], [ %sum.next, %round ]
  %target = getelementptr i32, ptr addrspace(1) %to, i32 %id
  store i32 %result, ptr addrspace(1) %target
  ret void
}

declare i32 @llvm.amdgcn.workitem.id.x()
declare void @_Z33__spirv_ControlBarrierArriveINTELiii(i32, i32, i32)
declare void @_Z31__spirv_ControlBarrierWaitINTELiii(i32, i32, i32)

!0 = !{i32 64, i32 1, i32 1}
