import type { ModelUser, Metric } from './model.ts';

/**
 * What became of an event, as its client knows. `open`: it is still tried; `abandoned`: its client gave up after a
 * try whose outcome it does not know.
 */
export type Outcome = 'open' | 'acknowledged' | 'refused' | 'abandoned';

/** One event as its client made it. */
export interface SentEvent {
  /** Its idempotency key, or without one the value of its attribute `deck`: names it in Postgres. */
  mark: string;
  keyed: boolean;
  userId: string;
  metric: Metric;
  micros: bigint;
  /** Sent in a batch: there is no answer with its ID. */
  batch: boolean;
  outcome: Outcome;
  eventId: string | null;
  tries: number;
}

/** A user whose events are sent one after another by one client, so that the client knows what each of them does. */
export interface OwnUser {
  id: string;
  model: ModelUser;
}

/** What the clients of a run have done and been answered. */
export class Ledger {
  readonly events = new Map<string, SentEvent>();
  readonly own = new Map<string, OwnUser>();
  /** Users whose `tour` was completed by call. */
  readonly tours = new Set<string>();
  /** Answers that contradict the ledger. */
  readonly contradictions: string[] = [];
  requests = 0;
  retries = 0;
  /** What became of requests that found no answer, or a 5xx. */
  failures: string[] = [];
  /** Times (performance.now) of acknowledgements and when their requests were sent, of the round. */
  acknowledgements: { sentMs: number; atMs: number }[] = [];

  private marks = 0;
  private readonly run: string;

  constructor(run: string) {
    this.run = run;
  }

  add(event: Pick<SentEvent, 'userId' | 'metric' | 'micros' | 'keyed' | 'batch'>): SentEvent {
    this.marks += 1;
    const sent: SentEvent = { ...event, mark: `${this.run}-${this.marks}`, outcome: 'open', eventId: null, tries: 0 };
    this.events.set(sent.mark, sent);
    return sent;
  }

  count(outcome: Outcome): number {
    let count = 0;
    for (const event of this.events.values()) if (event.outcome === outcome) count += 1;
    return count;
  }

  contradict(text: string): void {
    this.contradictions.push(text);
  }
}
