import { around } from '../../telemetry/spans.ts';
import type { Traces, WorkSpan } from '../../telemetry/traces.ts';
import { Attempts } from './pieces.ts';
import type { ScheduledWork } from './due-work.ts';

export interface DueKindOptions {
  /** Called with the kind's name at every failure. */
  onTrouble: (kind: string, error: unknown) => void;
  /** A call that takes longer counts as failed (ms). */
  patienceMs: number;
  /** Makes a span of each sampled piece of work; `null` or omitted turns spans off. */
  traces?: Traces | null | undefined;
}

/** A kind of work. If it fails or hangs, it is set aside for a period that doubles; its own order is kept. */
export class DueKind {
  readonly work: ScheduledWork;
  private readonly attempts: Attempts;
  private readonly traces: Traces | null;
  private oldestMs: number | null = null;

  constructor(work: ScheduledWork, { onTrouble, patienceMs, traces = null }: DueKindOptions) {
    this.work = work;
    this.traces = traces;
    this.attempts = new Attempts({ onFailed: (error) => onTrouble(work.name, error), patienceMs });
  }

  get aside(): boolean {
    return this.attempts.aside;
  }

  /** How long ago its oldest unfinished work fell due, at the last check; 0 if nothing is due. */
  overdueMs(nowMs: number): number {
    return this.oldestMs === null ? 0 : Math.max(0, nowMs - this.oldestMs);
  }

  /** Number of its pieces that are set aside; 1 if the whole kind is. */
  get piecesAside(): number {
    return Math.max(this.work.aside?.length ?? 0, Number(this.aside));
  }

  /** Call this when another process takes over, so that this one no longer knows what is due. */
  forget(): void {
    this.oldestMs = null;
  }

  /** Names blocked work, for operators; `null` if there is none. */
  get blocked(): string | null {
    const { name, aside = [] } = this.work;
    if (this.aside) return name;
    if (aside.length === 0) return null;
    const more = aside.length > MOST_NAMED ? ` and ${aside.length - MOST_NAMED} more` : '';
    return `${name} (${aside.slice(0, MOST_NAMED).join(', ')}${more})`;
  }

  /** See `DueWork.due`; `undefined` if it failed. */
  async due(upToMs: number, ending: AbortSignal): Promise<number | null | undefined> {
    const dueMs = await this.attempts.make(ending, () => this.work.due(upToMs));
    if (dueMs?.value === null) this.attempts.succeeded();
    // If it cannot be asked, the known due time stays and grows older.
    if (dueMs !== undefined) this.oldestMs = dueMs.value;
    return dueMs?.value;
  }

  /** See `DueWork.perform`. Returns whether it succeeded. */
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

/** Maximum number of pieces that are named individually. */
const MOST_NAMED = 10;
