import { providerOf, type PushProvider } from '../../../domain/notifications/device-tokens.ts';
import { type MessageSettings, pushTemplateFor, quietHoursOf } from '../../../domain/notifications/message-settings.ts';
import { renderPush } from '../../../domain/notifications/push-template.ts';
import type { WaitingMessage } from '../../../postgres/notifications/messages.ts';
import { readMessageSettings } from '../../../postgres/notifications/message-settings.ts';
import { readOrganisation } from '../../../postgres/organisation.ts';
import { userResponse } from '../../responses/users.ts';
import { LATEST_MS, type Prepared } from '../message-queue.ts';
import { NO_TEMPLATE, type PreparingOptions, readState } from '../prepare-email.ts';
import { pushRecipientOf } from '../recipient.ts';
import type { OpenProvider, PushDelivery } from './device-sends.ts';

export type PushPreparingOptions = Pick<PreparingOptions, 'redis' | 'pool' | 'catalogs' | 'clock'>;

/** How long a notification waits whose provider has no place for it, at least. */
const BUSY_MS = 3_000;
/** How long one waits whose provider's channel cannot be opened. */
const UNOPENED_MS = 30_000;

/** A function that prepares a tenant's push notifications with its present settings. For a minute at most, as settings may change. */
export async function createPushPreparing(
  options: PushPreparingOptions,
  tenantNo: number,
  providers: ReadonlyMap<PushProvider, OpenProvider>,
  ending: AbortSignal,
): Promise<(due: WaitingMessage) => Promise<Prepared<PushDelivery>>> {
  const { pool, clock, catalogs } = options;
  const settings = await readMessageSettings(pool, tenantNo);
  const { controlShare } = await readOrganisation(pool);
  return async (due) => {
    const { userId, kind } = due;
    if (settings === null) return NO_TEMPLATE;
    const state = await readState(options, due);
    const rules = { controlShare, quietHours: quietHoursOf(settings) };
    const recipient = pushRecipientOf({ userId, state, kind }, rules, clock.now());
    if (!('tokens' in recipient)) return recipient;
    const tokens = recipient.tokens.filter((token) => providers.has(providerOf(token)));
    if (tokens.length === 0) return { drop: 'the user has no device of a provider with an enabled channel' };
    const open = [...new Set(tokens.map((token) => providers.get(providerOf(token))!))];
    const pauseMs = pauseOf(open);
    if (pauseMs !== null) return { waitUntilMs: clock.now() + pauseMs, reason: 'the provider failed too often' };
    for (const { lane } of open) {
      if (lane.health.openUntilMs(performance.now()) !== null || (await lane.hasPlace(ending))) continue;
      const waitMs = BUSY_MS * (1 + Math.random());
      return { waitUntilMs: Math.ceil(clock.now() + waitMs), reason: 'the provider is slow' };
    }
    const compiled = await catalogs.of(tenantNo);
    // The user may have changed the name or an attribute since the notification fell due.
    const user = userResponse(compiled, { userId, state: state!, controlShare });
    const push = pushOf(settings, due, { ...(JSON.parse(due.payload) as object), user }, clock.now());
    if (push === null) return NO_TEMPLATE;
    return { message: { tokens, push }, localDay: recipient.localDay, mostPerDay: settings.pushesPerDay };
  };
}

/** For how long no attempt at any of the providers may succeed, because of their breakers or channels (ms); `null` if one has not. */
function pauseOf(providers: readonly OpenProvider[]): number | null {
  const nowMs = performance.now();
  const untilMs = providers.map(({ lane, isUnopened = false }) =>
    isUnopened ? nowMs + UNOPENED_MS : lane.health.openUntilMs(nowMs),
  );
  return untilMs.some((until) => until === null) ? null : Math.ceil(Math.min(...(untilMs as number[])) - nowMs);
}

function pushOf(
  settings: MessageSettings,
  { id, kind, atMs }: WaitingMessage,
  payload: Record<string, unknown>,
  nowMs: number,
): PushDelivery['push'] | null {
  const template = pushTemplateFor(settings, kind, payload);
  if (template === null) return null;
  return {
    id,
    ...renderPush(template, payload),
    ttlSeconds: Math.max(0, Math.floor((atMs + LATEST_MS[kind] - nowMs) / 1_000)),
    // On a device, a reminder replaces the one before; each achievement stays.
    collapseKey: kind === 'achievement_completed' ? null : kind,
    data: { kind, messageId: id },
  };
}
