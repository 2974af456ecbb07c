import { addressOf, type AdminOptions, askAdmin } from '../admin-api.ts';

/** What the live streams of a load did. */
export interface StreamsOutcome {
  opened: number;
  /** Streams that could not be opened, or ended before the load did. */
  failed: number;
  messages: number;
}

/** Opens live streams of users of the load, and counts their messages until `close`. */
export class LiveStreams {
  readonly outcome: StreamsOutcome = { opened: 0, failed: 0, messages: 0 };
  private readonly ending = new AbortController();
  private readonly reading: Promise<void>[] = [];

  /** Resolves when all are open or failed. */
  async open(app: AdminOptions, streams: { userIds: readonly string[]; boards: readonly string[] }): Promise<void> {
    await Promise.all(streams.userIds.map((userId) => this.openOne(app, { userId, boards: streams.boards })));
  }

  async close(): Promise<StreamsOutcome> {
    this.ending.abort();
    await Promise.all(this.reading);
    return this.outcome;
  }

  private async openOne(app: AdminOptions, body: { userId: string; boards: readonly string[] }): Promise<void> {
    const { signal } = this.ending;
    try {
      const made = await askAdmin(app, { method: 'POST', path: '/v1/live/tickets', body });
      const { ticket } = made as { ticket: string };
      const answer = await fetch(addressOf(app.url, `/v1/live?ticket=${encodeURIComponent(ticket)}`), { signal });
      if (!answer.ok || answer.body === null) throw new Error(String(answer.status));
      this.outcome.opened += 1;
      this.reading.push(this.read(answer.body));
    } catch {
      this.outcome.failed += 1;
    }
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    try {
      for await (const chunk of body) {
        const messages = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
        rest = messages.pop()!;
        this.outcome.messages += messages.filter((message) => /^event:/m.test(message)).length;
      }
    } catch {
      // Aborted at the end of the load, or the connection broke.
    }
    if (!this.ending.signal.aborted) this.outcome.failed += 1;
  }
}
