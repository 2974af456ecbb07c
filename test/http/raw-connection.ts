import { connect, type Socket } from 'node:net';

/** A socket to a server, for what no HTTP client would send. Waits are for conditions, with a deadline. */
export class RawConnection {
  received = '';
  closed = false;
  private readonly socket: Socket;
  private waiting: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (data) => {
      this.received += data.toString('utf8');
      this.wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.wake();
    });
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawConnection(socket);
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** Resolves when the condition holds; rejects with what came so far after `deadlineMs`. */
  async until(condition: (connection: this) => boolean, deadlineMs = 20_000): Promise<void> {
    const endMs = Date.now() + deadlineMs;
    while (!condition(this)) {
      const leftMs = endMs - Date.now();
      if (leftMs <= 0) throw new Error(`Waited in vain; received: ${JSON.stringify(this.received.slice(0, 500))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** The status lines of the responses so far. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/** A request as text. `headers` are lines; the body's length is declared unless `headers` says how it is framed. */
export function rawRequest(
  method: string,
  path: string,
  { headers = [], body = '' }: { headers?: string[]; body?: string } = {},
): string {
  const framed = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const length = body !== '' && !framed ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  return [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers, ...length, '', body].join('\r\n');
}
