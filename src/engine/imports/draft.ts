import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement, PointsBoost, PointsSystem, PointsTrigger } from '../../domain/catalog.ts';
import {
  DESCRIBING_TRIGGER,
  type ImportedAward,
  type ImportedCompletion,
  type ImportedTrigger,
  type SkippedPart,
} from '../../domain/imported-user.ts';
import type { Micros } from '../../domain/decimal.ts';
import type { Settlement } from '../../domain/streaks/settle.ts';
import type { User } from '../../rules/user.ts';
import { triggerResponse } from '../responses/points.ts';

/** What an import builds for a user, part by part: the state, the rows of history, and what could not be imported. */
export interface Draft {
  compiled: CompiledCatalog;
  nowMs: number;
  /** IANA name; `null` means UTC. */
  tz: string | null;
  /** The user's current local day (epoch day). */
  today: number;
  state: User;
  days: ImportedDay[];
  completions: ImportedCompletionRow[];
  awards: ImportedAwardRow[];
  settlements: Settlement[];
  /** Current and future pauses; IDs are 32 hex digits. */
  pauses: { id: string; from: number; to: number }[];
  /** On leaderboards with leagues, counted from 0; only tiers above the lowest one. */
  tiers: { boardNo: number; tier: number }[];
  skipped: SkippedPart[];
  /** Fields that are imported with another value than given, and how they differ. */
  changed: string[];
}

interface ImportedCompletionRow {
  achievementNo: number;
  atMs: number;
  /** Of a repeating achievement. */
  period?: number;
}

/** The change of a metric by a user's events on a local day. */
interface ImportedDay {
  metricNo: number;
  day: number;
  change: Micros;
  /** The total at the end of the day. */
  total: Micros;
}

export interface ImportedAwardRow {
  systemNo: number;
  /** 0 if this tenant does not know the trigger. */
  triggerNo: number;
  awarded: number;
  total: number;
  atMs: number;
  day: number;
  boostNos: number[];
  /** How many multiples of the trigger's threshold were awarded, derived from the amount; negative if taken back. */
  multiples: number;
}

/** A user who cannot be imported at all; `message` names the field. */
export class BadImport extends Error {}

/** A user who is skipped: the request is valid, but this tenant cannot import the user. */
export class SkippedUser extends Error {
  readonly skipped: SkippedPart;

  constructor(skipped: SkippedPart) {
    super(skipped.reason);
    this.skipped = skipped;
  }
}

/** The achievement that a completion names: by ID, else by key, else by a name that is unique. */
export function namedAchievement(
  compiled: CompiledCatalog,
  { id = '', key = '', name }: ImportedCompletion,
): Achievement | undefined {
  const named = compiled.catalog.achievements.filter((achievement) => achievement.name === name);
  return (
    compiled.achievementsById.get(id) ?? compiled.achievements.get(key) ?? (named.length === 1 ? named[0] : undefined)
  );
}

/** The trigger that an award names: by ID, else the system's first trigger that matches in all given fields. */
export function namedTrigger(
  compiled: CompiledCatalog,
  system: PointsSystem,
  asked: ImportedTrigger,
): PointsTrigger | undefined {
  const ofSystem = compiled.catalog.triggers.filter(({ systemId }) => systemId === system.id);
  const alike = (trigger: PointsTrigger): boolean => {
    const shown: Partial<Record<string, unknown>> = triggerResponse(compiled, trigger);
    return DESCRIBING_TRIGGER.every((field) => asked[field] === undefined || shown[field] === asked[field]);
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
