/** The draft of an imported user, its problems, and the resources that it refers to. */
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement, PointsBoost, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import type { ImportedAward, ImportedCompletion, ImportedTrigger, SkippedPart } from '../../domain/imported-user.ts';
import type { Micros } from '../../domain/decimal.ts';
import type { Settlement } from '../../domain/streaks/settle.ts';
import type { PackedState } from '../../packed/state.ts';
import { triggerResponse } from '../responses.ts';

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
interface ImportedDay {
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

/** The achievement that a completion names: by ID, else by key, else by a name that only one has. */
export function namedAchievement(
  compiled: CompiledCatalog,
  { id = '', key = '', name }: ImportedCompletion,
): Achievement | undefined {
  const named = compiled.catalog.achievements.filter((achievement) => achievement.name === name);
  return (
    compiled.achievementsById.get(id) ?? compiled.achievements.get(key) ?? (named.length === 1 ? named[0] : undefined)
  );
}

/** By what triggers of a system differ where their IDs are others. */
const COMPARED = [
  'type',
  'points',
  'metricName',
  'metricThreshold',
  'streakLengthThreshold',
  'achievementName',
  'timeUnit',
  'timeInterval',
] as const;

/** The trigger that an award names: by ID, else the first of the system that says the same in all that is given. */
export function namedTrigger(
  compiled: CompiledCatalog,
  system: PointsSystem,
  asked: ImportedTrigger,
): PointsTrigger | undefined {
  const ofSystem = compiled.catalog.triggers.filter(({ systemId }) => systemId === system.id);
  const alike = (trigger: PointsTrigger): boolean => {
    const shown: Partial<Record<string, unknown>> = triggerResponse(compiled, trigger);
    return COMPARED.every((field) => asked[field] === undefined || shown[field] === asked[field]);
  };
  return ofSystem.find(({ id }) => id === asked.id) ?? ofSystem.find(alike);
}

/** The boost that an award names: by ID, else by its name in the system. */
export const namedBoost = (
  compiled: CompiledCatalog,
  system: PointsSystem,
  { id, name }: NonNullable<ImportedAward['boosts']>[number],
): PointsBoost | undefined => {
  const ofSystem = compiled.catalog.boosts.filter(({ systemId }) => systemId === system.id);
  return ofSystem.find((boost) => boost.id === id) ?? ofSystem.find((boost) => boost.name === name);
};
