import type { ModelUser, Metric } from './model.ts';

/**
 * The outcome of an event as its client knows it. `open`: still tried; `abandoned`: the client gave up after a try with an
 * unknown outcome.
 */
export type Outcome = 'open' | 'acknowledged' | 'refused' | 'abandoned';

/** One event as its client made it. */
export interface SentEvent {
  /** Its idempotency key, or else the value of its attribute `deck`: identifies it in Postgres. */
  mark: string;
  keyed: boolean;
  userId: string;
  metric: Metric;
  micros: bigint;
  /** Sent in a batch: no answer has its ID. */
  batch: boolean;
  outcome: Outcome;
  eventId: string | null;
  tries: number;
}

/** A user whose events one client sends one after another, so that the client knows the effect of each. */
export interface OwnUser {
  id: string;
  model: ModelUser;
}

/** What the clients of a run did, and the answers they got. */
export class Ledger {
  readonly events = new Map<string, SentEvent>();
  readonly own = new Map<string, OwnUser>();
  /** Users whose `tour` was completed by call. */
  readonly tours = new Set<string>();
  /** Answers that contradict the ledger. */
  readonly contradictions: string[] = [];
  requests = 0;
  retries = 0;
  /** Requests that got no answer or a 5xx. */
  failures: { what: string; sentMs: number; atMs: number }[] = [];
  /** Times (performance.now) of acknowledgements and of their requests in this round. */
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
