import type { Redis } from 'ioredis';
import { systemClock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import { providerOf, type PushProvider } from '../../domain/notifications/device-tokens.ts';
import { type PushTemplateTest, type TemplateTest, TEST_PREFIX } from '../../domain/notifications/message-test.ts';
import type { PushTestResults } from '../../domain/notifications/push-channel.ts';
import { AppError, retryAfter } from '../../errors.ts';
import { noteMessageTest } from '../../redis/message-tests.ts';
import { tokensOf } from '../users/device-tokens.ts';
import type { UserReads } from '../users/user-reads.ts';
import type { MessageChannels } from './channels.ts';
import type { SendResult } from './email-sender.ts';
import type { PreviewMessage, PreviewPush } from './preview.ts';
import type { PushChannelsService } from './push/push-channels.ts';

interface TemplateTestsOptions {
  previewMessage: PreviewMessage;
  previewPush: PreviewPush;
  messageChannels: Pick<MessageChannels, 'test'>;
  pushChannels: Pick<PushChannelsService, 'list' | 'send'>;
  users: Pick<UserReads, 'state'>;
  redis: Redis;
}

interface Of {
  tenantNo: number;
  by: Author;
}

/** Tests that a tenant may send in a minute. Each may contain the figures of another user. */
const MOST = 20;
const WITHIN_MS = 60_000;

/**
 * Sends rendered templates to an address or device that an administrator names. Neither the log of messages nor the user knows of it; the
 * audit log has the administrator and the user. Throws what a preview throws, 404 without a channel, and 429.
 */
export function createTemplateTests(options: TemplateTestsOptions) {
  const { previewMessage, previewPush, messageChannels, pushChannels, users, redis } = options;
  /** Throws 429 for a tenant that already sent `MOST` tests in the last minute. */
  async function admit(tenantNo: number): Promise<void> {
    const waitMs = await noteMessageTest(redis, tenantNo, {
      most: MOST,
      withinMs: WITHIN_MS,
      nowMs: systemClock.now(),
    });
    if (waitMs === null) return;
    throw new AppError('too_many_requests', `The tenant sent ${MOST} tests in the last minute; try again later`, {
      headers: retryAfter(waitMs),
    });
  }

  async function email(of: Of, { to, ...request }: TemplateTest): Promise<Pick<SendResult, 'outcome' | 'reason'>> {
    const { subject, html, text } = await previewMessage(of.tenantNo, request);
    await admit(of.tenantNo);
    const about = { userId: request.userId, after: { kind: request.kind, to } };
    const content = { subject: `${TEST_PREFIX}${subject}`, html, text };
    const { outcome, reason } = await messageChannels.test(of, to, { content, about });
    return { outcome, reason };
  }

  async function push(of: Of, { token, toUserId, ...request }: PushTemplateTest): Promise<PushTestResults> {
    const { title, body, url } = await previewPush(of.tenantNo, request);
    const devices = await devicesFor(of.tenantNo, { token, toUserId });
    await admit(of.tenantNo);
    const after = { kind: request.kind, ...(toUserId !== undefined && { to: toUserId }) };
    const content = { title: `${TEST_PREFIX}${title}`, body, url };
    const sent = devices.map(([provider, tokens]) =>
      pushChannels.send({ ...of, provider }, tokens, { content, about: { userId: request.userId, after } }),
    );
    return { devices: (await Promise.all(sent)).flatMap((results) => results.devices) };
  }

  /** The tokens by provider. Throws 404 for an unknown user, 422 if no device can be reached. */
  async function devicesFor(
    tenantNo: number,
    { token, toUserId }: { token: string | undefined; toUserId: string | undefined },
  ): Promise<[PushProvider, string[]][]> {
    if ((token === undefined) === (toUserId === undefined))
      throw new AppError('unprocessable', 'token: either token or toUserId is required');
    if (token !== undefined) return [[providerOf(token), [token]]];
    const tokens = tokensOf(await users.state(tenantNo, toUserId!));
    const reached = (await pushChannels.list(tenantNo)).flatMap(({ provider }): [PushProvider, string[]][] => {
      const own = tokens.filter((one) => providerOf(one) === provider);
      return own.length === 0 ? [] : [[provider, own]];
    });
    if (reached.length > 0) return reached;
    throw new AppError('unprocessable', 'toUserId: the user has no device of a provider with a channel');
  }

  return { email, push };
}
