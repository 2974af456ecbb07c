import { around } from '../../telemetry/spans.ts';
import type { Traces, WorkSpan } from '../../telemetry/traces.ts';
import { Attempts } from './pieces.ts';
import type { ScheduledWork } from './due-work.ts';

export interface DueKindOptions {
  /** Called with every failure, and the kind's name. */
  onTrouble: (kind: string, error: unknown) => void;
  /** A call that takes longer counts as failed; ms. */
  patienceMs: number;
  /** Makes a span of each piece of work that is sampled; null or left out: none. */
  traces?: Traces | null | undefined;
}

/**
 * A kind of work with what the schedule knows of its health. One that fails or hangs is set aside for a while that
 * doubles, so that the others go on; its own work keeps its order, since nothing later is tried meanwhile.
 */
export class DueKind {
  readonly work: ScheduledWork;
  private readonly attempts: Attempts;
  private readonly traces: Traces | null;
  /** When the oldest work that is not done fell due, as far as is known; null: none is. */
  private oldestMs: number | null = null;

  constructor(work: ScheduledWork, { onTrouble, patienceMs, traces = null }: DueKindOptions) {
    this.work = work;
    this.traces = traces;
    this.attempts = new Attempts({ onFailed: (error) => onTrouble(work.name, error), patienceMs });
  }

  /** Whether it is set aside at the moment. */
  get aside(): boolean {
    return this.attempts.aside;
  }

  /** How long ago its oldest work that is not done fell due, when it was looked at last; 0: nothing is due. */
  overdueMs(nowMs: number): number {
    return this.oldestMs === null ? 0 : Math.max(0, nowMs - this.oldestMs);
  }

  /** How many pieces of it are set aside; 1 where all of it is. */
  get piecesAside(): number {
    return Math.max(this.work.aside?.length ?? 0, Number(this.aside));
  }

  /** Another process does it: this one does not know what is due. */
  forget(): void {
    this.oldestMs = null;
  }

  /** What of it cannot be done at the moment, for a person; null: nothing is in its way. */
  get heldUp(): string | null {
    const { name, aside = [] } = this.work;
    if (this.aside) return name;
    if (aside.length === 0) return null;
    const more = aside.length > MOST_NAMED ? ` and ${aside.length - MOST_NAMED} more` : '';
    return `${name} (${aside.slice(0, MOST_NAMED).join(', ')}${more})`;
  }

  /** See `DueWork.due`; undefined where it failed. */
  async due(upToMs: number, ending: AbortSignal): Promise<number | null | undefined> {
    const dueMs = await this.attempts.make(ending, () => this.work.due(upToMs));
    if (dueMs?.value === null) this.attempts.succeeded();
    // Of one that cannot be asked, what was known goes on growing old.
    if (dueMs !== undefined) this.oldestMs = dueMs.value;
    return dueMs?.value;
  }

  /** See `DueWork.perform`; whether it did so. */
  async perform(
    { dueMs, beforeMs, upToMs }: { dueMs: number; beforeMs: number; upToMs: number },
    ending: AbortSignal,
  ): Promise<boolean> {
    const root: WorkSpan = {
      name: 'scheduled_work',
      isCall: false,
      attributes: () => ({ 'laurel.kind': this.work.name, 'laurel.overdue_ms': upToMs - dueMs }),
    };
    const performed = await this.attempts.make(ending, (signal) =>
      around(this.traces, root, () => this.work.perform(dueMs, signal, beforeMs, upToMs)),
    );
    if (performed === undefined) return false;
    this.attempts.succeeded();
    return true;
  }
}

/** Pieces of a kind that are named one by one. */
const MOST_NAMED = 10;
