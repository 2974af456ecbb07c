import { setMaxListeners } from 'node:events';
import type { PushProvider } from '../../../domain/notifications/device-tokens.ts';
import { type PushChannelRow, readPushChannels } from '../../../postgres/notifications/push-channels.ts';
import type { Scripts } from '../../scripts.ts';
import { forgetTokens } from '../../users/device-tokens.ts';
import type { OpenChannel } from '../message-deliveries.ts';
import type { Sealer } from '../sealed-secrets.ts';
import {
  type DeliveryResult,
  MOST_NOTIFICATIONS,
  type OpenProvider,
  ProviderLane,
  type PushDelivery,
  sendToDevices,
} from './device-sends.ts';
import { createPushPreparing, type PushPreparingOptions } from './prepare-push.ts';
import type { PushSenders } from './push-senders.ts';
import { noteTickets } from './receipts.ts';
import { openedCredentials } from './sealed-credentials.ts';

export interface PushOpenerOptions extends PushPreparingOptions {
  scripts: Scripts;
  /** `null` without `SECRETS_KEY`. */
  sealer: Sealer | null;
  senders: PushSenders;
  /** How long a provider's breaker is open for the first time. */
  firstPauseMs?: number | undefined;
}

const FIRST_PAUSE_MS = 30_000;

/** Lanes that outlive a turn because their provider failed lately, by tenant and provider. */
type FailingLanes = Map<string, { lane: ProviderLane; updatedMs: number }>;

/** A function that opens a tenant's push channels for a turn: all enabled ones together. See `MessageDeliveriesOptions.open`. */
export function createPushOpener(options: PushOpenerOptions) {
  const { pool, catalogs, clock, scripts } = options;
  const failing: FailingLanes = new Map();
  return async (tenantNo: number): Promise<OpenChannel<PushDelivery, DeliveryResult> | null> => {
    const channels = (await readPushChannels(pool, tenantNo)).filter(({ enabled }) => enabled);
    if (channels.length === 0) return null;
    const providers = new Map(channels.map((channel) => [channel.provider, openProvider(options, failing, channel)]));
    const ending = new AbortController();
    // One listener per device that waits for its turn.
    setMaxListeners(0, ending.signal);
    const prepare = await createPushPreparing(options, tenantNo, providers, ending.signal);
    return {
      // Each provider has a pace of its own.
      pace: Infinity,
      // Lanes limit the attempts at each provider.
      mostAtATime: MOST_NOTIFICATIONS,
      leastAtATime: MOST_NOTIFICATIONS,
      prepare,
      send: (delivery) => sendToDevices(providers, delivery, ending.signal),
      onResult: async ({ id: messageId, userId }, _delivery, result) => {
        const nowMs = clock.now();
        await noteTickets(pool, { tenantNo, messageId, nowMs }, result);
        if (result.gone.length === 0) return;
        const isGone = (token: string): boolean => result.gone.includes(token);
        await forgetTokens(scripts, await catalogs.of(tenantNo), { userId, isGone, nowMs });
      },
      cutOff: () => {
        ending.abort();
        for (const { sender } of providers.values()) sender.cutOff();
      },
      close: () => keepFailing(failing, channels, providers),
    };
  };
}

const keyOf = ({ tenantNo, provider }: PushChannelRow): string => `${tenantNo} ${provider}`;

function openProvider(
  { sealer, senders, firstPauseMs = FIRST_PAUSE_MS }: PushOpenerOptions,
  failing: FailingLanes,
  channel: PushChannelRow,
): OpenProvider {
  const known = failing.get(keyOf(channel));
  // A changed channel gets a new chance.
  const lane =
    known?.updatedMs === channel.updated.getTime() ? known.lane : new ProviderLane({ ...channel, firstPauseMs });
  return { lane, sender: senders.of(openedCredentials(channel, sealer)) };
}

function keepFailing(
  failing: FailingLanes,
  channels: readonly PushChannelRow[],
  providers: ReadonlyMap<PushProvider, OpenProvider>,
): void {
  for (const channel of channels) {
    const { lane } = providers.get(channel.provider)!;
    if (lane.health.failures > 0) failing.set(keyOf(channel), { lane, updatedMs: channel.updated.getTime() });
    else failing.delete(keyOf(channel));
  }
}
