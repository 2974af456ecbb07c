import type { Pool } from 'pg';
import type { TSchema } from 'typebox';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import type { Catalog } from '../../../src/domain/catalog.ts';
import type { AchievementCompletionResponse } from '../../../src/domain/event.ts';
import {
  createAchievementCompletion,
  type AchievementCompletion,
} from '../../../src/engine/achievements/achievement-completion.ts';
import { createAchievementReads, type AchievementReads } from '../../../src/engine/achievements/achievement-reads.ts';
import { createUserProfiles, type UserProfiles } from '../../../src/engine/users/user-profiles.ts';
import type { UpsertedUser } from '../../../src/domain/user.ts';
import { TestEngine } from '../events/engine.ts';

/** Hiding needs a Postgres. */
const NO_BOARDS = { set: () => Promise.reject(new Error('there are no leaderboards')) };

/** The engine with the operations on users and achievements outside of events. */
export class TestUsers extends TestEngine {
  readonly profiles: UserProfiles;
  readonly achievements: AchievementReads;
  readonly completion: AchievementCompletion;
  controlShare = 0;

  constructor(redisUrl: string, catalog: Catalog, pool?: Pool) {
    super(redisUrl, catalog, { pool });
    const { clock, scripts } = this;
    this.profiles = createUserProfiles({
      reads: this.users,
      scripts,
      hiding: NO_BOARDS,
      clock,
      controlShare: () => this.controlShare,
    });
    this.achievements = createAchievementReads(this.redis, this.users);
    this.completion = createAchievementCompletion(scripts, clock);
  }

  /** Completes an achievement by call; the parsed answer. */
  async complete(key: string, user: string | UpsertedUser): Promise<AchievementCompletionResponse> {
    const named = typeof user === 'string' ? { id: user } : user;
    return JSON.parse(await this.completion.complete(this.compiled(), key, named)) as AchievementCompletionResponse;
  }
}

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);

/** Expects an answer, as it is sent, to fit its schema. */
export function expectFit(schema: TSchema, answer: unknown): void {
  const validate = ajv.compile(schema);
  validate(JSON.parse(JSON.stringify(answer)));
  expect(validate.errors ?? []).toEqual([]);
}
