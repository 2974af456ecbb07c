import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionLimit } from './access/connection-limit.ts';
import type { ExchangeContext } from './exchange-context.ts';
import { connectionClosed } from './respond.ts';
import { type ListenSocket, type TemplatedApp, uws } from './uws.ts';

export interface Server {
  readonly inFlight: number;
  /** Open connections, the most that may be open, and those that were refused since the start. */
  readonly connections: Pick<ConnectionLimit, 'count' | 'most' | 'refused'>;
  /** Listens and returns the port (0 chooses a free one). Rejects with a readable message if the port is in use. */
  listen(host: string, port: number): Promise<number>;
  /**
   * Shuts down gracefully. From the start, `/readyz` answers 503 and responses close their connections. After `graceMs`, in which a load
   * balancer notices, no more connections are accepted. Once all requests have ended, or after `timeoutMs`, the rest is closed. Idle
   * connections stay open for another `lingerMs`: a client may be about to send a request, which is still answered and closes the
   * connection. Resolves with the number of exchanges that were cut off.
   */
  drain(options?: { graceMs?: number; lingerMs?: number; timeoutMs?: number }): Promise<number>;
  /** Closes the listener and every connection immediately. Can be called twice. */
  close(): void;
}

/** The exchanges that have begun and not ended. */
export class InFlight {
  private running = 0;
  private waiting: (() => void)[] = [];

  get count(): number {
    return this.running;
  }

  begun(): void {
    this.running += 1;
  }

  ended(): void {
    this.running -= 1;
    if (this.running > 0 || this.waiting.length === 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  async idle(timeoutMs: number): Promise<void> {
    if (this.running === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** An overload of `listen` that is missing in the types. */
interface HostListener {
  listen(host: string, port: number, options: number, callback: (socket: ListenSocket | false) => void): void;
}

/** How often to check whether all connections are closed. */
const LINGER_LOOK_MS = 20;

// LIBUS_LISTEN_DEFAULT and LIBUS_LISTEN_EXCLUSIVE_PORT, which exist only in the types.
const SHARED = 0;
const EXCLUSIVE = 1;

/** Counts the connections of an app from now on. */
export function listening(
  app: TemplatedApp,
  options: { context: ExchangeContext; inFlight: InFlight; sharedPort: boolean; endStreams: () => void },
): Server {
  const { context, inFlight, sharedPort, endStreams } = options;
  let listener: ListenSocket | null = null;
  let closed = false;
  const { connections } = context;
  app.filter((res, count) => {
    if (Number(count) > 0) {
      if (!connections.opened(res)) res.close();
    } else {
      connections.closed();
      connectionClosed();
    }
  });
  const closeListener = (): void => {
    if (listener) uws().us_listen_socket_close(listener);
    listener = null;
  };
  const close = (): void => {
    if (closed) return;
    closed = true;
    // Closing the app closes its listener; closing the listener twice would crash the process.
    listener = null;
    app.close();
  };
  return {
    get inFlight() {
      return inFlight.count;
    },
    connections,
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        const bound = (socket: ListenSocket | false): void => {
          if (!socket) return reject(new Error(`Port ${port} of ${host} is taken or may not be used`));
          listener = socket;
          resolve(uws().us_socket_local_port(socket));
        };
        (app as unknown as HostListener).listen(host, port, sharedPort ? SHARED : EXCLUSIVE, bound);
      }),
    async drain({ graceMs = 0, lingerMs = 0, timeoutMs = 10_000 } = {}) {
      context.draining = true;
      if (graceMs > 0) await sleep(graceMs);
      // Close right after the event loop has accepted the waiting connections. Those still in the queue would be reset.
      await new Promise((resolve) => setImmediate(resolve));
      closeListener();
      endStreams();
      const deadlineMs = performance.now() + timeoutMs;
      await inFlight.idle(timeoutMs);
      const quietMs = Math.min(performance.now() + lingerMs, deadlineMs);
      while (connections.count > 0 && performance.now() < quietMs) await sleep(LINGER_LOOK_MS);
      await inFlight.idle(Math.max(0, deadlineMs - performance.now()));
      const cutOff = inFlight.count;
      await new Promise((resolve) => setImmediate(resolve));
      close();
      return cutOff;
    },
    close,
  };
}
