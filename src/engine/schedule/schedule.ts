/** The schedule: does the due work of each kind, and waits for the next that falls due. */
import type { Clock } from '../../clock.ts';
import { DueKind, type DueKindOptions } from './due-kind.ts';
import type { ScheduledWork } from './due-work.ts';

interface ScheduleOptions extends Partial<Pick<DueKindOptions, 'patienceMs' | 'traces'>> {
  /** At the same time the first of the list goes first. */
  kinds: readonly ScheduledWork[];
  clock: Clock;
  /** Waits until what was accepted so far can be seen where work looks for it; false: it took too long. */
  settled: (ending: AbortSignal) => Promise<boolean>;
  onTrouble: DueKindOptions['onTrouble'];
  /** See `ANSWERED_MS`. */
  answeredMs?: number;
}

/** `done`: nothing is due any more. `more`: it was enough for one pass, or it was called off. */
export type PassOutcome = { state: 'done' | 'more' } | { state: 'held up'; by: string };

/** How a kind of work fares. */
export interface KindState {
  kind: string;
  /** See `DueKind.overdueMs`. */
  overdueMs: number;
  /** See `DueKind.piecesAside`. */
  aside: number;
}

/**
 * While a kind that gives others nothing to do goes on, what those answered holds for so long. A piece of work of a few ms is
 * then followed by one question instead of sixteen; rows that come meanwhile are seen after this at the latest.
 */
const ANSWERED_MS = 250;
/** A pass is not much longer than this, so that a request that waits for its end is answered. */
const PASS_MS = 10_000;
const PATIENCE_MS = 60_000;

/**
 * Does the work of all kinds in the order of its times. The order holds within a kind, and between kinds, unless one
 * fails, or a piece of one: then it is set aside, and the others go on.
 */
export class Schedule {
  private readonly options: ScheduleOptions;
  private readonly kinds: readonly DueKind[];
  /** What was done last, also in the pass before, as long as something was due. */
  private last: DueKind | null = null;
  /** What was accepted up to then has been waited for; nobody looks beyond it. */
  private settledMs = -Infinity;
  /** What all kinds answered when all were asked last, and when that was (`performance.now()`). */
  private answers: readonly Answer[] = [];
  private answeredMs = -Infinity;

  constructor(options: ScheduleOptions) {
    this.options = options;
    const { onTrouble, traces, patienceMs = PATIENCE_MS } = options;
    this.kinds = options.kinds.map((work) => new DueKind(work, { onTrouble, traces, patienceMs }));
  }

  /**
   * Does what is due, up to the clock's time, for some seconds at most. One pass at a time: the caller sees to that,
   * between processes as well (two at once do no harm, but the order is lost).
   */
  async pass(ending: AbortSignal): Promise<PassOutcome> {
    const endMs = performance.now() + PASS_MS;
    while (!ending.aborted && performance.now() < endMs) {
      const upToMs = this.options.clock.now();
      if (upToMs < this.settledMs) this.settledMs = -Infinity;
      // Work that sees itself goes on, also from pass to pass, without waiting for all that it wrote: up to a time
      // up to which everything that was accepted is where it is looked for. All else waits for that first.
      let first = this.last?.work.seesItself === true ? await this.further(this.last, ending) : null;
      if (first === null) {
        if (!(await this.options.settled(ending))) {
          return ending.aborted ? { state: 'more' } : { state: 'held up', by: 'what was accepted is not stored yet' };
        }
        this.settledMs = upToMs;
        first = await this.first(upToMs, ending);
      }
      if (first === null) {
        // Nothing goes on in the next pass, which would only be asked twice for it.
        this.last = null;
        const heldUp = this.kinds.map((kind) => kind.heldUp).filter((by) => by !== null);
        if (ending.aborted) return { state: 'more' };
        return heldUp.length === 0
          ? { state: 'done' }
          : { state: 'held up', by: `${heldUp.join(', ')} cannot be done` };
      }
      const { kind, dueMs, beforeMs } = first;
      await kind.perform({ dueMs, beforeMs, upToMs }, ending);
      this.last = kind;
    }
    return { state: 'more' };
  }

  /**
   * How long it is, by the clock, until something falls due that can be known of now, ms; 0 or less: it fell due already;
   * null: nothing does within `withinMs`. To be asked after a pass that is done. Rejects when Redis or Postgres does.
   */
  async untilNextMs(withinMs: number): Promise<number | null> {
    const nowMs = this.options.clock.now();
    const times = await Promise.all(this.kinds.map(({ work }) => work.upcoming(nowMs + withinMs)));
    const known = times.filter((time) => time !== null);
    // One ms more: timers may be that early.
    return known.length === 0 ? null : Math.max(0, Math.min(...known) - this.options.clock.now() + 1);
  }

  /** How each kind fares, as far as this process does the work. */
  states(): KindState[] {
    const nowMs = this.options.clock.now();
    return this.kinds.map((kind) => ({
      kind: kind.work.name,
      overdueMs: kind.overdueMs(nowMs),
      aside: kind.piecesAside,
    }));
  }

  /** To be called when another process does the work. */
  forget(): void {
    for (const kind of this.kinds) kind.forget();
  }

  /** What a kind that sees itself has to do first, up to what was settled; null: nothing, or another kind comes before. */
  private async further(kind: DueKind, ending: AbortSignal): Promise<Due | null> {
    if (this.settledMs === -Infinity) return null;
    let first: Due | null;
    if (performance.now() - this.answeredMs >= (this.options.answeredMs ?? ANSWERED_MS))
      first = await this.first(this.settledMs, ending);
    else {
      const asked = await this.ask([kind], this.settledMs, ending);
      const of = (each: DueKind): readonly Answer[] =>
        each === kind ? asked : this.answers.filter((answer) => answer.kind === each);
      first = earliest(this.kinds.flatMap(of), this.settledMs);
    }
    return first?.kind === kind ? first : null;
  }

  /** What is due first of all kinds. */
  private async first(upToMs: number, ending: AbortSignal): Promise<Due | null> {
    this.answeredMs = performance.now();
    this.answers = await this.ask(this.kinds, upToMs, ending);
    return earliest(this.answers, upToMs);
  }

  /** What some kinds have due; those that have nothing, or are set aside, are left out. */
  private async ask(kinds: readonly DueKind[], upToMs: number, ending: AbortSignal): Promise<Answer[]> {
    const asked = kinds.filter((kind) => !kind.aside);
    const answers = await Promise.all(asked.map((kind) => kind.due(upToMs, ending)));
    return asked.flatMap((kind, index) => {
      const dueMs = answers[index];
      return typeof dueMs === 'number' ? [{ kind, dueMs }] : [];
    });
  }
}

/** What a kind answers when it is asked what is due. */
interface Answer {
  kind: DueKind;
  dueMs: number;
}

/** What is due first; until `beforeMs` no other kind has anything to do. */
interface Due {
  kind: DueKind;
  dueMs: number;
  beforeMs: number;
}

/** What comes first of what is due up to a time, epoch ms; at the same time the first of the list. Null: nothing is due. */
function earliest(answers: readonly Answer[], upToMs: number): Due | null {
  const [first, ...others] = answers.toSorted((a, b) => a.dueMs - b.dueMs);
  if (first === undefined) return null;
  const second = others.find(({ kind }) => first.kind.work.apartFrom?.includes(kind.work.name) !== true);
  const beforeMs = Math.max(first.dueMs + 1, Math.min(second?.dueMs ?? Infinity, upToMs + 1));
  return { ...first, beforeMs };
}
