# SPDX-License-Identifier: BSD-2-Clause
"""The numbers of NVIDIA's own tools: NVML through ctypes (bytes) and nvidia-smi (MiB).

Invariant: nothing here goes through gpumemtrace; this is the other side of every comparison.
"""
import ctypes
import subprocess

COUNT = 256
NOT_AVAILABLE = (1 << 64) - 1


class ProcessInfo(ctypes.Structure):       # nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]


class Nvml:
    def __init__(self):
        self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        if self.lib.nvmlInit_v2():
            raise OSError("nvmlInit_v2 failed")
        count = ctypes.c_uint()
        self.lib.nvmlDeviceGetCount_v2(ctypes.byref(count))
        self.devices = []                  # (handle, uuid without its prefix)
        for i in range(count.value):
            handle = ctypes.c_void_p()
            self.lib.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(handle))
            text = ctypes.create_string_buffer(96)
            self.lib.nvmlDeviceGetUUID(handle, text, 96)
            self.devices.append((handle, text.value.decode().removeprefix("GPU-")))

    def uuids(self):
        return [uuid for _, uuid in self.devices]

    def used(self, pid):
        """GPU uuid -> bytes, of the GPUs that list the process."""
        out = {}
        for handle, uuid in self.devices:
            infos, count = (ProcessInfo * COUNT)(), ctypes.c_uint(COUNT)
            if self.lib.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), infos):
                continue
            for info in infos[:count.value]:
                if info.pid == pid and info.used != NOT_AVAILABLE:
                    out[uuid] = out.get(uuid, 0) + info.used
        return out

    def version(self):
        text = ctypes.create_string_buffer(96)
        self.lib.nvmlSystemGetDriverVersion(text, 96)
        return text.value.decode()


def smi(pid, seconds=20):
    """GPU uuid -> MiB as nvidia-smi prints it; None without nvidia-smi."""
    try:
        text = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory,gpu_uuid",
                               "--format=csv,noheader,nounits"], capture_output=True, text=True,
                              timeout=seconds, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    out = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.split(",")]
        if len(cells) == 3 and cells[0] == str(pid) and cells[1].isdigit():
            out[cells[2].removeprefix("GPU-")] = int(cells[1])
    return out
