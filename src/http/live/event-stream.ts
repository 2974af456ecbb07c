import type { LiveAdmission } from '../../engine/live/live.ts';
import { closingJson, reconnectMs, type ClosingReason, type LiveMessage } from '../../engine/live/live-sink.ts';
import { NOSNIFF } from '../respond.ts';
import type { HttpResponse } from '../uws.ts';
import { LiveConnection, MAX_WAITING_BYTES } from './connection.ts';

/** So much is handed to a connection at once, which uWS keeps until the client takes it. */
const PIECE_BYTES = 65_536;
/** When a browser comes back after its connection broke. */
const RETRY_MS = 2_000;

/**
 * Written at the beginning: no proxy may keep or gather what follows. The connection ends with the stream; uWS can say so
 * only here: asked to close a connection when a chunked body ends, it writes the header into the body.
 */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  Connection: 'close',
  ...NOSNIFF,
};

/**
 * Begins a stream of server-sent events on a response that is still open, and returns what is to be called when its
 * connection is gone.
 */
export function openEventStream(
  res: HttpResponse,
  admission: LiveAdmission,
  headers: Readonly<Record<string, string>>,
): () => void {
  res.cork(() => {
    for (const [name, value] of [...Object.entries(HEADERS), ...Object.entries(headers)]) res.writeHeader(name, value);
    res.write(`retry: ${RETRY_MS}\n\n`);
  });
  const stream = new EventStream(res, admission);
  stream.onGone(admission.start(stream));
  return stream.gone;
}

/** The event of a message; its JSON has no line breaks. */
const eventText = ({ id, type, json }: LiveMessage): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

/**
 * A stream of server-sent events as a sink. uWS keeps what a client does not take without a bound, so it is handed one piece
 * at a time; the rest waits here.
 */
class EventStream extends LiveConnection {
  private readonly res: HttpResponse;
  /** Whether the connection has taken all that was handed to it. */
  private flows = true;
  private waiting: string[] = [];
  private waitingBytes = 0;

  constructor(res: HttpResponse, admission: LiveAdmission) {
    super(admission);
    this.res = res;
    res.onWritable(() => this.writable());
  }

  send(messages: readonly LiveMessage[]): void {
    this.write(messages.map(eventText));
  }

  /** An ID without data: the browser notes it, and the page sees nothing. */
  heartbeat(id: string): void {
    this.write([`: heartbeat\nid: ${id}\n\n`]);
  }

  end(reason: ClosingReason): void {
    if (!this.open || this.ending) return;
    const retryMs = reconnectMs(reason);
    const retry = retryMs === null ? '' : `retry: ${retryMs}\n`;
    this.ending = true;
    this.add([`${retry}event: closing\ndata: ${closingJson(reason, retryMs)}\n\n`]);
  }

  protected get bytes(): number {
    return this.waitingBytes + (this.flows ? 0 : PIECE_BYTES);
  }

  protected close(): void {
    this.res.close();
  }

  protected override released(): void {
    this.drop();
  }

  private write(texts: readonly string[]): void {
    if (!this.open || this.ending) return;
    this.add(texts);
    if (this.waitingBytes <= MAX_WAITING_BYTES) return;
    // What waits would not be read in time: the client comes back for it, with the last ID that it has.
    this.drop();
    this.end('slow_reader');
  }

  private add(texts: readonly string[]): void {
    for (const text of texts) {
      this.waiting.push(text);
      this.waitingBytes += Buffer.byteLength(text);
    }
    if (this.flows) this.res.cork(() => this.handOver());
    this.handedOver(false);
  }

  /** Hands what waits to the connection as long as it takes all of it. */
  private handOver(): void {
    let at = 0;
    while (this.flows && at < this.waiting.length) {
      let piece = '';
      while (at < this.waiting.length && piece.length < PIECE_BYTES) piece += this.waiting[at++]!;
      this.waitingBytes -= Buffer.byteLength(piece);
      this.flows = this.res.write(piece);
    }
    this.waiting.splice(0, at);
  }

  private writable(): boolean {
    if (!this.open) return true;
    this.res.cork(() => {
      // What uWS keeps, it sends only together with what is written next: a comment, if nothing else waits.
      this.flows = this.waiting.length > 0 || this.res.write(':\n\n');
      this.handOver();
    });
    this.handedOver(true);
    return true;
  }

  private handedOver(took: boolean): void {
    if (this.ending && this.bytes === 0) {
      this.res.cork(() => void this.res.end(''));
      this.gone();
    } else this.noteWaiting(took);
  }

  private drop(): void {
    this.waiting = [];
    this.waitingBytes = 0;
  }
}
