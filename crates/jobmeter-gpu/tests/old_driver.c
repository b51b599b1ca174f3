/* An NVML of many years ago: the first versions of a few functions and nothing else. */
#include <string.h>

struct memory { unsigned long long total, free, used; };
struct utilization { unsigned int gpu, memory; };
struct process { unsigned int pid; unsigned long long used; };

extern int getpid(void);

int nvmlInit(void) { return 0; }
int nvmlDeviceGetCount(unsigned int *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex(unsigned int index, void **device) { *device = (void *)1; return index; }
int nvmlDeviceGetName(void *device, char *text, unsigned int length) {
    (void)device; strncpy(text, "Tesla K20", length); return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    (void)device; memory->total = 5000; memory->free = 1000; memory->used = 4000; return 0;
}
int nvmlDeviceGetTemperature(void *device, unsigned int sensor, unsigned int *celsius) {
    (void)device; (void)sensor; *celsius = 66; return 0;
}
int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *count, struct process *list) {
    (void)device; *count = 1; list[0].pid = getpid(); list[0].used = 123; return 0;
}
int nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned int *count, struct process *list) {
    (void)device; (void)list; *count = 0; return 0;
}
