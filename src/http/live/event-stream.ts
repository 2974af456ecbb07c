import type { LiveAdmission } from '../../engine/live/live.ts';
import { closingJson, type ClosingReason, type LiveMessage, reconnectMs } from '../../engine/live/live-sink.ts';
import { NOSNIFF } from '../respond.ts';
import type { HttpResponse } from '../uws.ts';
import { LiveConnection, MAX_WAITING_BYTES } from './connection.ts';

/** Bytes passed to a connection at once. uWS keeps them until the client reads them. */
const PIECE_BYTES = 65_536;
/** Delay before a browser reconnects. */
const RETRY_MS = 2_000;

/**
 * Proxies must neither cache nor buffer the stream. The connection closes with the stream, which must be announced here: uWS writes the header into
 * the body if it is asked to close at the end of a chunked body.
 */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
  Connection: 'close',
  ...NOSNIFF,
};

/** Starts a stream of server-sent events on an open response. Returns the function to call when the connection is gone. */
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

/** A message as an event. Its JSON contains no line breaks. */
const eventText = ({ id, type, json }: LiveMessage): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

/**
 * A stream of server-sent events as a sink. uWS buffers data for slow clients without limit, so it gets one piece at a time; the rest waits here.
 */
class EventStream extends LiveConnection {
  private readonly res: HttpResponse;
  /** Whether the connection has accepted all data. */
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

  /** An ID without data: the browser remembers it, and the page sees no event. */
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
    // The client would not read the waiting data in time. It reconnects with its last ID and gets the data again.
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

  /** Passes waiting data to the connection until it stops accepting. */
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
      // uWS sends buffered data only with the next write, so write a comment if nothing else waits.
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
