import type { Span } from '@opentelemetry/api';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { UpdateUserPreferencesRequest, UserPreferencesResponse } from '../../domain/notifications/preferences.ts';
import type { ChangedUser, UpdatedUser, User } from '../../domain/user.ts';
import { KIND } from '../../packed/record-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User as UserState } from '../../rules/user.ts';
import type { SentProfile } from '../../rules/profile.ts';
import { changeByRequest } from '../changes/request-change.ts';
import { unlessRefused } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';
import { sentUser } from './sent-user.ts';
import type { Hiding } from './hiding.ts';
import { pendingLeaderboards, type UserReads } from './user-reads.ts';
import { preferencesResponse, sentPreferences } from './preferences.ts';
import { hidesItself, userResponse } from '../responses/users.ts';

export interface UserProfilesOptions {
  reads: Pick<UserReads, 'state'>;
  scripts: Scripts;
  hiding: Pick<Hiding, 'set'>;
  clock: Clock;
  controlShare: () => number;
}

/** The sender of a user's fields. `byClient`: with an application key. */
interface Sender {
  byClient?: boolean;
  span?: Span | undefined;
}

/** Users' profiles and preferences. Reads see every write that was answered. `span`: the request's, if it is sampled. */
export function createUserProfiles({ reads, controlShare, hiding, clock, scripts }: UserProfilesOptions) {
  async function get(compiled: CompiledCatalog, userId: string): Promise<User> {
    const state = await reads.state(compiled.catalog.tenantNo, userId);
    return userResponse(compiled, { userId, state, controlShare: controlShare() });
  }

  /**
   * Creates the user, or updates the given fields of an existing one. Idempotent. Throws 422 for unknown attributes or
   * time zones, a subscription without e-mail address and fields that an application key may not write; 503 while Redis
   * is away or the backlog is full.
   */
  async function upsert(
    compiled: CompiledCatalog,
    userId: string,
    fields: UpdatedUser,
    sender: Sender = {},
  ): Promise<ChangedUser> {
    return change(compiled, { userId, fields, ...sender, mustExist: false });
  }

  /** The same as `upsert`, but throws 404 for an unknown user. */
  async function update(
    compiled: CompiledCatalog,
    userId: string,
    fields: UpdatedUser,
    sender: Sender = {},
  ): Promise<ChangedUser> {
    return change(compiled, { userId, fields, ...sender, mustExist: true });
  }

  async function preferences(compiled: CompiledCatalog, userId: string): Promise<UserPreferencesResponse> {
    return preferencesResponse(compiled, await reads.state(compiled.catalog.tenantNo, userId));
  }

  /** Updates the given preferences. Throws 404 for an unknown user, 403 and 422 as `sentPreferences` does, 503. */
  async function updatePreferences(
    compiled: CompiledCatalog,
    userId: string,
    request: UpdateUserPreferencesRequest,
    span?: Span,
  ): Promise<UserPreferencesResponse> {
    const before = await reads.state(compiled.catalog.tenantNo, userId);
    const preferences = sentPreferences(compiled, request);
    const sent = Object.keys(preferences).length === 0 ? null : preferences;
    const hidden = request.leaderboards?.hidden;
    // Two steps. If the second one fails, the client sends the same request again. Hiding asks Redis about every leaderboard.
    if (hidden !== undefined && hidden !== hidesItself(before))
      await hiding.set(compiled, userId, { by: 'user', hidden });
    return preferencesResponse(compiled, await identify(compiled, { userId, sent, mustExist: true, span }));
  }

  async function change(
    compiled: CompiledCatalog,
    request: Sender & { userId: string; fields: UpdatedUser; mustExist: boolean },
  ): Promise<ChangedUser> {
    const { userId, fields, byClient = false, mustExist, span } = request;
    const sent = sentUser(fields, compiled, { nowMs: clock.now(), byClient });
    const state = await identify(compiled, { userId, sent, mustExist, span });
    const user = userResponse(compiled, { userId, state, controlShare: controlShare() });
    const pending = pendingLeaderboards(compiled, state, clock.now());
    return pending.length === 0 ? user : { ...user, pendingLeaderboards: pending };
  }

  async function identify(
    compiled: CompiledCatalog,
    request: { userId: string; sent: SentProfile | null; mustExist: boolean; span: Span | undefined },
  ): Promise<UserState> {
    const { userId, sent, mustExist, span } = request;
    const change = await changeByRequest(scripts, compiled, { userId, sent, mustExist, nowMs: clock.now() }, span);
    unlessRefused(compiled, change.reply, [KIND.user]);
    return decodeUser(change.packed!);
  }

  return { get, upsert, update, preferences, updatePreferences };
}

export type UserProfiles = ReturnType<typeof createUserProfiles>;
