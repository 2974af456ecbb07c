import type { AttributeFilter } from '../../domain/user.ts';
import type { Redis } from 'ioredis';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Achievement } from '../../domain/catalog.ts';
import { parseAttributeFilter } from '../attribute-filter.ts';
import type { UserReads } from '../users/user-reads.ts';
import { concealed, openAchievementJson, showsTo, userAchievementJson } from '../responses/achievements.ts';
import { COUNTER, completionsField } from '../../packed/call-fields.ts';
import { mappedInSlices } from '../../pacing/slices.ts';
import { lastCounters } from '../../redis/parts.ts';

interface Stats {
  completions: number;
  /** Percent of all users, with two decimals. */
  rarity: number;
}

/** Reads achievements, and how many users have them, from the tenant's live counters. */
export function createAchievementReads(redis: Redis, users: Pick<UserReads, 'state'>) {
  /**
   * JSON text of the active achievements, oldest first; with a filter, of those whose user conditions hold for it, and no concealed
   * ones. Throws 422.
   */
  async function list(
    compiled: CompiledCatalog,
    userAttributes: AttributeFilter | undefined,
    { seesSecrets = true }: { seesSecrets?: boolean } = {},
  ): Promise<string> {
    const filter = parseAttributeFilter(userAttributes, compiled.userAttributes);
    const values = new Map(filter.map(({ attribute, value }) => [attribute.id, value]));
    const shown = compiled.catalog.achievements.filter(
      (achievement) =>
        achievement.status === 'active' &&
        (filter.length === 0 || (holds(achievement, values) && (seesSecrets || !achievement.secret))),
    );
    return withStats(compiled, shown, (achievement) =>
      achievement.secret && !seesSecrets
        ? JSON.stringify(concealed(achievement)).slice(0, -1)
        : openAchievementJson(compiled, achievement),
    );
  }

  /** JSON text of a user's achievements; with `includeIncomplete`, also of the active ones the user lacks. Throws 404. */
  async function ofUser(
    compiled: CompiledCatalog,
    userId: string,
    { includeIncomplete, ...as }: { includeIncomplete: boolean; nowMs: number; seesSecrets?: boolean },
  ): Promise<string> {
    const state = await users.state(compiled.catalog.tenantNo, userId);
    const shown = compiled.catalog.achievements.filter(
      (achievement) => showsTo(achievement, state) && (includeIncomplete || state.completions.has(achievement.no)),
    );
    return withStats(compiled, shown, (achievement) =>
      userAchievementJson(compiled, achievement, state, as).slice(0, -1),
    );
  }

  /** JSON text of achievements with their stats. `openJson`: makes the text of one without its closing brace. */
  async function withStats(
    compiled: CompiledCatalog,
    achievements: readonly Achievement[],
    openJson: (achievement: Achievement) => string,
  ): Promise<string> {
    const stats = await readStats(compiled, achievements);
    const texts = await mappedInSlices(
      [...achievements.entries()],
      ([at, achievement]) =>
        `${openJson(achievement)},"completions":${stats[at]!.completions},"rarity":${stats[at]!.rarity}}`,
    );
    return `[${texts.join(',')}]`;
  }

  async function readStats(compiled: CompiledCatalog, achievements: readonly Achievement[]): Promise<Stats[]> {
    const fields = [COUNTER.users, ...achievements.map(({ no }) => completionsField(no))];
    const [users = 0, ...completions] = await lastCounters(redis, compiled.catalog.tenantNo, fields);
    return completions.map((count) => {
      const share = users === 0 ? 0 : count / users;
      return { completions: count, rarity: Math.round(share * 10_000) / 100 };
    });
  }

  return { list, ofUser };
}

export type AchievementReads = ReturnType<typeof createAchievementReads>;

const holds = ({ userAttributes }: Achievement, values: ReadonlyMap<string, string>): boolean =>
  userAttributes.every(({ attributeId, attributeValue }) => values.get(attributeId) === attributeValue);
