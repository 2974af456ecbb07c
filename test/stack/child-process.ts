import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

type Exit = [code: number | null, signal: NodeJS.Signals | null];

/** How a child ends. Resolves at once if it has ended, so a test may call this after the cause of the end. */
export async function exitOf(child: ChildProcess): Promise<Exit> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return [child.exitCode, child.signalCode];
}

/** Sends a signal to a child, which may have ended, and resolves with how it ended. */
export function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<Exit> {
  child.kill(signal);
  return exitOf(child);
}

/**
 * The next message of a child. Call this in the tick that starts the child, or before you ask it for the message: Node keeps messages
 * that nothing listens to, but only until the child ends. Rejects if the child ends without one.
 */
export function messageOf<T>(child: ChildProcess): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const take = (message: unknown): void => {
      child.off('disconnect', end);
      resolve(message as T);
    };
    // The channel closes after the last message, which may arrive after the exit.
    const end = (): void => {
      child.off('message', take);
      reject(new Error('The process ended without a message.'));
    };
    child.once('message', take).once('disconnect', end);
    if (!child.connected) end();
  });
}
