/**
 * For a process that the supervisor starts: it ends with its parent, even one that was killed. Without a
 * parent (a process of its own, in a container) this does nothing.
 */
export function endWithParent(): void {
  if (process.send === undefined) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}

/** What a child says to its parent when it does its work. */
export const READY = 'ready';

/** Tells the parent, if there is one, that this process does its work from now on. */
export function tellReady(): void {
  process.send?.(READY);
}
