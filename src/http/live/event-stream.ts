import type { LiveAdmission } from '../../engine/live/live.ts';
import {
  closingJson,
  reconnectMs,
  type ClosingReason,
  type LiveMessage,
  type LiveSink,
} from '../../engine/live/live-sink.ts';
import type { HttpResponse } from '../uws.ts';

/** What may wait for a client that does not read, besides what its connection takes; with more it is closed. */
export const MAX_WAITING_BYTES = 1_048_576;
/** How long a client that does not read gets to take the last message. */
const LAST_MESSAGE_MS = 5_000;
/** When a browser comes back after its connection broke. */
const RETRY_MS = 2_000;

/** Written at the beginning: no proxy may keep or gather what follows. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
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
  const stream = new EventStream(res);
  stream.onGone(admission.start(stream));
  return stream.gone;
}

/** The event of a message; its JSON has no line breaks. */
const eventText = ({ id, type, json }: LiveMessage): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`;

/** A stream of server-sent events as a sink. uWS gathers what is written without a bound: so here it is, and bounded. */
export class EventStream implements LiveSink {
  private readonly res: HttpResponse;
  private readonly maxWaitingBytes: number;
  private open = true;
  private flows = true;
  private ending = false;
  private waiting: string[] = [];
  private waitingBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private listener: (() => void) | null = null;

  constructor(res: HttpResponse, maxWaitingBytes = MAX_WAITING_BYTES) {
    this.res = res;
    this.maxWaitingBytes = maxWaitingBytes;
    res.onWritable(() => this.writable());
  }

  /** Has a function called once, when the connection is gone or was closed from here: at once if it is already. */
  onGone(listener: () => void): void {
    if (this.open) this.listener = listener;
    else listener();
  }

  send(messages: readonly LiveMessage[]): void {
    this.write(messages.map(eventText).join(''));
  }

  /** An ID without data: the browser notes it, and the page sees nothing. */
  heartbeat(id: string): void {
    this.write(`: heartbeat\nid: ${id}\n\n`);
  }

  end(reason: ClosingReason): void {
    if (!this.open || this.ending) return;
    const retryMs = reconnectMs(reason);
    const retry = retryMs === null ? '' : `retry: ${retryMs}\n`;
    this.write(`${retry}event: closing\ndata: ${closingJson(reason, retryMs)}\n\n`);
    this.ending = true;
    if (this.flows) this.finish();
    else this.timer = setTimeout(() => this.cut(), LAST_MESSAGE_MS).unref();
  }

  readonly gone = (): void => {
    if (!this.open) return;
    this.open = false;
    this.waiting = [];
    clearTimeout(this.timer);
    this.listener?.();
  };

  private write(text: string): void {
    if (!this.open || this.ending) return;
    if (this.flows) {
      this.res.cork(() => void (this.flows = this.res.write(text)));
      return;
    }
    const bytes = Buffer.byteLength(text);
    if (this.waitingBytes + bytes > this.maxWaitingBytes) {
      // What waits would not be read in time: the client comes back for it, with the last ID that it has.
      this.waiting = [];
      this.waitingBytes = 0;
      this.end('slow_reader');
      return;
    }
    this.waiting.push(text);
    this.waitingBytes += bytes;
  }

  private writable(): boolean {
    if (!this.open) return true;
    const text = this.waiting.join('');
    this.waiting = [];
    this.waitingBytes = 0;
    this.flows = true;
    if (text !== '') this.res.cork(() => void (this.flows = this.res.write(text)));
    if (this.ending && this.flows) this.finish();
    return true;
  }

  private finish(): void {
    this.res.cork(() => void this.res.end('', true));
    this.gone();
  }

  private cut(): void {
    if (!this.open) return;
    // Closing calls back as an abort does.
    this.res.close();
    this.gone();
  }
}
