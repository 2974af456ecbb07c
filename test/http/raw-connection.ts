import { connect, type Socket } from 'node:net';

/** A socket to a server, for requests that no HTTP client would send. Waits for conditions, with a deadline. */
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

  /** Resolves when the condition holds; after `deadlineMs` rejects with the bytes received so far. */
  async until(condition: (connection: this) => boolean, deadlineMs = 120_000): Promise<void> {
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

  /**
   * The decoded chunks of the last response's body. Throws if the body is incomplete, or has anything between its chunks.
   */
  get chunks(): string {
    let rest = this.received.slice(this.received.lastIndexOf('HTTP/1.1 ')).split('\r\n\r\n').slice(1).join('\r\n\r\n');
    let body = '';
    for (;;) {
      const size = /^([\da-f]+)\r\n/i.exec(rest);
      if (size === null) throw new Error(`Not a chunk: ${JSON.stringify(rest.slice(0, 100))}`);
      const length = parseInt(size[1]!, 16);
      const chunk = Buffer.from(rest.slice(size[0].length));
      if (chunk.subarray(length, length + 2).toString() !== '\r\n')
        throw new Error(`Behind a chunk: ${JSON.stringify(chunk.subarray(length, length + 100).toString())}`);
      if (length === 0) return body;
      body += chunk.subarray(0, length).toString();
      rest = chunk.subarray(length + 2).toString();
    }
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

/** A request as text. `headers` are lines; declares the body's length unless `headers` defines the framing. */
export function rawRequest(
  method: string,
  path: string,
  { headers = [], body = '' }: { headers?: string[]; body?: string } = {},
): string {
  const framed = headers.some((line) => /^(content-length|transfer-encoding):/i.test(line));
  const length = body !== '' && !framed ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  return [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers, ...length, '', body].join('\r\n');
}
