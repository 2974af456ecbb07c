import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Instead of a status: the server closed the connection before it answered, or did not answer in time. */
export const CLOSED = 'closed';
export const TIMEOUT = 'timeout';

/** `body`: '' unless it was asked for. `retryMs`: what Retry-After says; 0 without one. */
export type OnAnswer = (status: string, body: string, retryMs: number) => void;

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');
const STATUS = { from: 9, to: 12 };
/** Plain connections read into it, one after the other: a stream would allocate 64 KiB for each answer. */
const READ = Buffer.allocUnsafeSlow(65_536);

/**
 * One HTTP/1.1 connection with one request at a time, which takes less CPU than a client with all features: the generator must
 * not be slower than the server. Reads the status, and the body only if it is wanted. The server may close an idle connection:
 * the next request opens it again.
 */
export class Connection {
  private readonly url: URL;
  private readonly timeoutMs: number;
  private socket: Socket | null = null;
  private onAnswer: OnAnswer | null = null;
  private wantsBody = false;
  private received: Buffer = Buffer.alloc(0);
  private sentMs = 0;

  constructor(url: URL, timeoutMs: number) {
    this.url = url;
    this.timeoutMs = timeoutMs;
  }

  /** Resolves when it is connected; rejects if it cannot. */
  async open(): Promise<void> {
    await once(this.connect(), this.url.protocol === 'https:' ? 'secureConnect' : 'connect');
  }

  /** Only when the previous request is answered. `onAnswer` is called once, also without an answer. */
  send(text: Buffer, { wantsBody, onAnswer }: { wantsBody: boolean; onAnswer: OnAnswer }): void {
    this.onAnswer = onAnswer;
    this.wantsBody = wantsBody;
    this.sentMs = performance.now();
    (this.socket ?? this.connect()).write(text);
  }

  /** Ends a request that takes too long. */
  check(nowMs: number): void {
    if (this.onAnswer === null || nowMs - this.sentMs < this.timeoutMs) return;
    this.disconnect();
    this.end(TIMEOUT);
  }

  /** An unanswered request ends as closed. */
  close(): void {
    this.disconnect();
    this.end(CLOSED);
  }

  private disconnect(): void {
    this.socket?.destroy();
    this.socket = null;
  }

  private connect(): Socket {
    const { hostname, port, protocol } = this.url;
    // Node has no brackets around an IPv6 address.
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const secure = protocol === 'https:';
    const to = { host, port: port === '' ? (secure ? 443 : 80) : Number(port) };
    const socket: Socket = secure
      ? connectTls({ ...to, servername: host, ALPNProtocols: ['http/1.1'] })
      : connectPlain({ ...to, onread: { buffer: READ, callback: (bytes) => this.takeRead(bytes, socket) } });
    socket.setNoDelay(true);
    this.socket = socket;
    this.received = Buffer.alloc(0);
    if (secure) socket.on('data', (chunk: Buffer) => this.take(chunk, socket));
    // 'close' follows an error.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.destroy());
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.end(CLOSED);
    });
    return socket;
  }

  private takeRead(bytes: number, socket: Socket): true {
    this.take(READ.subarray(0, bytes), socket);
    // The next read overwrites what is not taken yet.
    if (this.received.buffer === READ.buffer) this.received = Buffer.from(this.received);
    return true;
  }

  private take(chunk: Buffer, socket: Socket): void {
    if (socket !== this.socket) return;
    this.received = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    const headEnd = this.received.indexOf(HEAD_END);
    if (headEnd === -1) return;
    const head = this.received.toString('latin1', 0, headEnd);
    const bodyFrom = headEnd + HEAD_END.length;
    const body = /\r\ntransfer-encoding: *chunked/i.test(head)
      ? chunkedBody(this.received, bodyFrom)
      : wholeBody(this.received, bodyFrom, Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? '0'));
    if (body === null) return;
    this.received = Buffer.alloc(0);
    if (/\r\nconnection: *close/i.test(head)) this.disconnect();
    const retryMs = Number(/\r\nretry-after: *(\d+)/i.exec(head)?.[1] ?? '0') * 1000;
    this.end(head.slice(STATUS.from, STATUS.to), this.wantsBody ? Buffer.concat(body).toString('utf8') : '', retryMs);
  }

  private end(status: string, body = '', retryMs = 0): void {
    const { onAnswer } = this;
    this.onAnswer = null;
    onAnswer?.(status, body, retryMs);
  }
}

/** The pieces of a body; `null` until all of it has arrived. */
function wholeBody(received: Buffer, from: number, length: number): Buffer[] | null {
  return received.length < from + length ? null : [received.subarray(from, from + length)];
}

function chunkedBody(received: Buffer, from: number): Buffer[] | null {
  const pieces: Buffer[] = [];
  for (let at = from; ;) {
    const lineEnd = received.indexOf(LINE_END, at);
    if (lineEnd === -1) return null;
    const length = parseInt(received.toString('latin1', at, lineEnd), 16);
    const pieceFrom = lineEnd + LINE_END.length;
    if (received.length < pieceFrom + length + LINE_END.length) return null;
    if (length === 0) return pieces;
    pieces.push(received.subarray(pieceFrom, pieceFrom + length));
    at = pieceFrom + length + LINE_END.length;
  }
}
