import type { Clock } from '../../clock.ts';
import { DueKind, type DueKindOptions } from './due-kind.ts';
import type { ScheduledWork } from './due-work.ts';

interface ScheduleOptions extends Partial<Pick<DueKindOptions, 'patienceMs' | 'traces'>> {
  /** Ordered by precedence at equal times. */
  kinds: readonly ScheduledWork[];
  clock: Clock;
  /** Waits until work can see everything accepted so far; false if that takes too long. */
  settled: (ending: AbortSignal) => Promise<boolean>;
  onTrouble: DueKindOptions['onTrouble'];
  /** See `ANSWERED_MS`. */
  answeredMs?: number;
}

/** `done`: nothing is due any longer. `more`: the pass reached its limit, or was aborted. */
export type PassOutcome = { state: 'done' | 'more' } | { state: 'held up'; by: string };

export interface KindState {
  kind: string;
  overdueMs: number;
  aside: number;
}

/**
 * After a piece of work that gives other kinds nothing to do, their answers are reused for this long. Only that
 * kind is asked again; new rows are seen after this time at the latest.
 */
const ANSWERED_MS = 250;
/** Approximate maximum duration of a pass, so that a request that waits for its end gets an answer. */
const PASS_MS = 10_000;
const PATIENCE_MS = 60_000;
/**
 * Kinds that are asked at the same time, at least those that share reads. All at once, they would open each connection of the
 * worker's pool.
 */
const LANES = 4;

/** A kind whose work is set aside at least in part, and how operators see that. */
type Blocked = [name: string, by: string];

/** Does the work of all kinds in the order of its times. What fails is set aside; the others go on. */
export class Schedule {
  private readonly options: ScheduleOptions;
  private readonly kinds: readonly DueKind[];
  /** The kind that worked last, also across passes, as long as something is due. */
  private last: DueKind | null = null;
  /** Everything accepted up to this time was waited for; work looks no further. */
  private settledMs = -Infinity;
  /** All kinds' last answers, and when they were complete (`performance.now()`). */
  private answers: readonly Answer[] = [];
  private answeredMs = -Infinity;
  /** The kinds that could not say then what is due. */
  private unanswered: string[] = [];

  constructor(options: ScheduleOptions) {
    this.options = options;
    const { onTrouble, traces, patienceMs = PATIENCE_MS } = options;
    this.kinds = options.kinds.map((work) => new DueKind(work, { onTrouble, traces, patienceMs }));
  }

  /** Does due work for some seconds at most. Two passes at once are safe, but lose the order. */
  async pass(ending: AbortSignal): Promise<PassOutcome> {
    const endMs = performance.now() + PASS_MS;
    while (!ending.aborted && performance.now() < endMs) {
      const upToMs = this.options.clock.now();
      if (upToMs < this.settledMs) this.settledMs = -Infinity;
      // Up to the settled time, work that sees its own results continues, even across passes, without waiting for its own
      // writes, and upkeep is followed by any work. All other work waits first.
      let first = this.last === null ? null : await this.further(this.last, ending);
      let aside: Blocked[] = [];
      if (first === null) {
        if (!(await this.options.settled(ending))) {
          return ending.aborted ? { state: 'more' } : { state: 'held up', by: 'accepted events are not stored yet' };
        }
        this.settledMs = upToMs;
        aside = this.blocked();
        first = await this.first(upToMs, ending);
      }
      if (first === null) {
        // The next pass has nothing to continue with.
        this.last = null;
        if (ending.aborted) return { state: 'more' };
        // What was set aside when work was looked for was left out, even if it could be tried again by now.
        const unanswered = this.unanswered.map((name): Blocked => [name, name]);
        const blocked = new Map([...this.blocked(), ...unanswered, ...aside]);
        return blocked.size === 0
          ? { state: 'done' }
          : { state: 'held up', by: `${[...blocked.values()].join(', ')} cannot be done` };
      }
      const { kind, dueMs, beforeMs } = first;
      // Time may have advanced since the wait. Only work that continues goes by the new time.
      await kind.perform({ dueMs, beforeMs, upToMs: kind === this.last ? upToMs : this.settledMs }, ending);
      this.last = kind;
    }
    return { state: 'more' };
  }

  /** Time (ms) until known work is due; 0 or less: now, `null`: none within `withinMs`. Ask after a pass that is done. */
  async untilNextMs(withinMs: number): Promise<number | null> {
    const nowMs = this.options.clock.now();
    const times = await fewAtOnce(this.kinds.toSorted(sharingFirst), ({ work }) => work.upcoming(nowMs + withinMs));
    const known = times.filter((time) => time !== null);
    // Add one ms, since timers may fire that early.
    return known.length === 0 ? null : Math.max(0, Math.min(...known) - this.options.clock.now() + 1);
  }

  /** The health of each kind, as far as this process does the work. */
  states(): KindState[] {
    const nowMs = this.options.clock.now();
    return this.kinds.map((kind) => ({
      kind: kind.work.name,
      overdueMs: kind.overdueMs(nowMs),
      aside: kind.piecesAside,
    }));
  }

  /** Call this when another process takes over. */
  forget(): void {
    for (const kind of this.kinds) kind.forget();
  }

  private blocked(): Blocked[] {
    return this.kinds.flatMap((kind): Blocked[] => (kind.blocked === null ? [] : [[kind.work.name, kind.blocked]]));
  }

  /**
   * What may follow a kind without another wait, up to the settled time: its own next work if it sees its results, any
   * work after upkeep. `null` if there is none, or another kind comes first.
   */
  private async further(kind: DueKind, ending: AbortSignal): Promise<Due | null> {
    const { seesItself = false, isUpkeep = false } = kind.work;
    const isFresh = performance.now() - this.answeredMs < (this.options.answeredMs ?? ANSWERED_MS);
    // Other work that falls due during much upkeep must not wait for its end.
    if (this.settledMs === -Infinity || !(seesItself || (isUpkeep && isFresh))) return null;
    let first: Due | null;
    if (isFresh) {
      const fresh = await this.ask([kind], this.settledMs, ending);
      this.answers = this.kinds.flatMap((each) =>
        each === kind ? fresh : this.answers.filter((answer) => answer.kind === each),
      );
      first = earliest(this.answers, this.settledMs);
    } else first = await this.first(this.settledMs, ending);
    return isUpkeep || first?.kind === kind ? first : null;
  }

  /** The first due work of all kinds. */
  private async first(upToMs: number, ending: AbortSignal): Promise<Due | null> {
    this.unanswered = [];
    this.answers = await this.ask(this.kinds, upToMs, ending);
    // Not the time of the question: where answers take long, they would be asked for again after each piece of work.
    this.answeredMs = performance.now();
    return earliest(this.answers, upToMs);
  }

  /** The due work of some kinds, except those without any and those set aside. */
  private async ask(kinds: readonly DueKind[], upToMs: number, ending: AbortSignal): Promise<Answer[]> {
    const running = kinds.filter((kind) => !kind.aside);
    const dueMs = new Map<DueKind, number>();
    await fewAtOnce(running.toSorted(sharingFirst), async (kind) => {
      const answer = await kind.due(upToMs, ending);
      if (typeof answer === 'number') dueMs.set(kind, answer);
      if (answer === undefined) this.unanswered.push(kind.work.name);
    });
    return running.filter((kind) => dueMs.has(kind)).map((kind) => ({ kind, dueMs: dueMs.get(kind)! }));
  }
}

/** Puts kinds that share reads before the others. */
const sharingFirst = (a: DueKind, b: DueKind): number =>
  Number(b.work.sharesReads === true) - Number(a.work.sharesReads === true);

interface Answer {
  kind: DueKind;
  dueMs: number;
}

interface Due {
  kind: DueKind;
  dueMs: number;
  beforeMs: number;
}

/** The first of the work that is due up to a time (epoch ms), in list order at equal times; `null` if nothing is due. */
function earliest(answers: readonly Answer[], upToMs: number): Due | null {
  const [first, ...others] = answers.toSorted((a, b) => a.dueMs - b.dueMs);
  if (first === undefined) return null;
  const second = others.find(({ kind }) => first.kind.work.apartFrom?.includes(kind.work.name) !== true);
  const beforeMs = Math.max(first.dueMs + 1, Math.min(second?.dueMs ?? Infinity, upToMs + 1));
  return { ...first, beforeMs };
}

/** The results for all items, in their order. */
async function fewAtOnce<T, R>(items: readonly T[], call: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) results[index] = await call(items[index]!);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return results;
}
