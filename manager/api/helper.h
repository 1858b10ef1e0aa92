/* libtributary-manager: loaded when a process names a manager, so that libtributary and the command
 * `tributary` link no gRPC. Requests and replies are JSON in UTF-8. Any thread may call. */
#ifndef TRIBUTARY_MANAGER_API_HELPER_H
#define TRIBUTARY_MANAGER_API_HELPER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Calls a method of manager.proto that has one reply.
 *
 * request: {"manager": "unix:PATH or HOST:PORT", "ca": "", "cert": "", "key": "",
 *   "method": "Jobs.List", "request": {...}, "timeout_s": 10}
 * Returns {"ok": true, "reply": {...}}, or {"ok": false, "code": "NOT_FOUND", "error": "..."} with
 *   the name of gRPC's status; "DEADLINE_EXCEEDED": no manager was reached within timeout_s, or has
 *   answered; "USAGE": the request makes no sense; "FAILED": a file cannot be read. Free it with
 * tributary_manager_free(). NULL: no memory.
 * "stop_fd" in the request is a descriptor of this process, that stays open: once it can be read,
 *   the call ends with "CANCELLED".
 */
char* tributary_manager_call(const char* request);

/* Waits until a job runs.
 *
 * request: as above, with {"job": "NAME", "request": "YAML to submit, or empty", "file_name": ""}
 *   instead of method and request.
 * Returns what tributary_manager_call() returns; the reply is a Job of manager.proto.
 *   DEADLINE_EXCEEDED: the job does not run after timeout_s.
 */
char* tributary_manager_wait(const char* request);

/* How long certificates are valid.
 *
 * request: {"files": ["PATH of PEM", ...]}
 * Returns {"ok": true, "reply": [...]}, for each file {"path": "PATH", "days": whole ones from now
 *   on, below zero where it has ended, "until": "TIME"}, or {"path": "PATH", "problem": "..."}.
 */
char* tributary_manager_certificates(const char* request);

void tributary_manager_free(char* reply);

#ifdef __cplusplus
}
#endif
#endif
