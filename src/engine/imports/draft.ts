import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Micros } from '../../domain/micros.ts';
import type { SkippedPart } from '../../domain/imported-user.ts';
import type { Settlement } from '../../domain/settle-streaks.ts';
import type { PackedState } from '../../packed/state.ts';

/** What is made of one imported user, part by part: the state, the rows of history, and what could not be brought. */
export interface Draft {
  compiled: CompiledCatalog;
  nowMs: number;
  /** IANA name; null: UTC. */
  tz: string | null;
  /** The user's local day (epoch day) of now. */
  today: number;
  state: PackedState;
  days: ImportedDay[];
  awards: ImportedAwardRow[];
  settlements: Settlement[];
  /** Pauses that last or are to come; IDs are 32 hex digits. */
  pauses: { id: string; from: number; to: number }[];
  /** Parts of the user that are not imported. */
  skipped: SkippedPart[];
  /** What is imported differently than it was given: the field, and how. */
  changed: string[];
}

/** What a user's events of a metric added on a local day. */
export interface ImportedDay {
  metricNo: number;
  day: number;
  change: Micros;
  /** The total after it. */
  total: Micros;
}

export interface ImportedAwardRow {
  systemNo: number;
  /** 0: not known here. */
  triggerNo: number;
  awarded: number;
  total: number;
  atMs: number;
  day: number;
  boostNos: number[];
  /** For how many multiples of its trigger's threshold it was, as far as the amount shows it; below 0: taken back. */
  multiples: number;
}

/** A user who cannot be imported at all; `message` names the field. */
export class BadImport extends Error {}

/** A user who is skipped: valid as a request, but not importable here. */
export class SkippedUser extends Error {
  readonly skipped: SkippedPart;

  constructor(skipped: SkippedPart) {
    super(skipped.reason);
    this.skipped = skipped;
  }
}
