import { setMaxListeners } from 'node:events';
import type { PushProvider } from '../../../domain/notifications/device-tokens.ts';
import { type PushChannelRow, readPushChannels } from '../../../postgres/notifications/push-channels.ts';
import type { Scripts } from '../../scripts.ts';
import { forgetTokens } from '../../users/device-tokens.ts';
import { type Log, LogThrottle } from '../../../telemetry/log.ts';
import { AttemptRun } from '../attempt-run.ts';
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
import { later } from './push-result.ts';
import type { PushResult, PushSender } from './push-sender.ts';
import type { PushSenders } from './push-senders.ts';
import { noteTickets } from './receipts.ts';
import { openedCredentials } from './sealed-credentials.ts';

export interface PushOpenerOptions extends PushPreparingOptions {
  scripts: Scripts;
  /** `null` without `SECRETS_KEY`. */
  sealer: Sealer | null;
  senders: PushSenders;
  log: Log;
  /** How long a provider's breaker is open for the first time. */
  firstPauseMs?: number | undefined;
}

const FIRST_PAUSE_MS = 30_000;
const REPEAT_MS = 60_000;

/** Lanes that outlive a turn because their provider failed lately, by tenant and provider. */
type FailingLanes = Map<string, { lane: ProviderLane; updatedMs: number }>;

/** A function that opens a tenant's push channels for a turn: all enabled ones together. See `MessageDeliveriesOptions.open`. */
export function createPushOpener(options: PushOpenerOptions) {
  const { pool, catalogs, clock, scripts, log } = options;
  const failing: FailingLanes = new Map();
  const throttle = new LogThrottle(REPEAT_MS);
  const onUnreadable = ({ tenantNo, provider }: PushChannelRow, error: unknown): void =>
    throttle.log(`${tenantNo} ${provider}`, (suppressed) =>
      log.warn({ tenantNo, provider, err: error, suppressed }, 'a push channel cannot be opened; others are served'),
    );
  return async (tenantNo: number): Promise<OpenChannel<PushDelivery, DeliveryResult> | null> => {
    const channels = (await readPushChannels(pool, tenantNo)).filter(({ enabled }) => enabled);
    if (channels.length === 0) return null;
    const opened = channels.map((channel) => openProvider({ ...options, onUnreadable }, failing, channel));
    const providers = new Map(channels.map(({ provider }, at) => [provider, opened[at]!]));
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
      close: async () => {
        keepFailing(failing, channels, providers);
        await Promise.all(channels.map((channel, at) => opened[at]!.run.record(pool, attemptedOf(channel))));
      },
    };
  };
}

const keyOf = ({ tenantNo, provider }: PushChannelRow): string => `${tenantNo} ${provider}`;

const attemptedOf = ({ tenantNo, provider, updated }: PushChannelRow) => ({ tenantNo, channel: provider, updated });

/** Opens a channel. One whose credentials cannot be read or used counts as failing, and sends nothing. */
function openProvider(
  options: PushOpenerOptions & { onUnreadable: (channel: PushChannelRow, error: unknown) => void },
  failing: FailingLanes,
  channel: PushChannelRow,
): OpenProvider & { run: AttemptRun } {
  const { clock, sealer, senders, firstPauseMs = FIRST_PAUSE_MS, onUnreadable } = options;
  const known = failing.get(keyOf(channel));
  // A changed channel gets a new chance.
  const lane =
    known?.updatedMs === channel.updated.getTime() ? known.lane : new ProviderLane({ ...channel, firstPauseMs });
  const run = new AttemptRun();
  const note = (result: PushResult): void => run.note(result, clock.now());
  try {
    return { lane, run, sender: noting(senders.of(openedCredentials(channel, sealer)), note) };
  } catch (error) {
    onUnreadable(channel, error);
    const result = later((error as Error).message, { concernsServer: true });
    note(result);
    return { lane, run, sender: unopened(result), isUnopened: true };
  }
}

const unopened = (result: PushResult): PushSender => ({
  send: () => Promise.resolve(result),
  cutOff: () => undefined,
  close: () => undefined,
});

/** The sender, which also reports how each attempt ended. */
const noting = (sender: PushSender, note: (result: PushResult) => void): PushSender => ({
  ...sender,
  send: async (token, push) => {
    const result = await sender.send(token, push);
    note(result);
    return result;
  },
});

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
