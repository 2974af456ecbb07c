import {
  PushChannel,
  PushChannelParams,
  PushChannels,
  PushTest,
  PushTestResults,
  SentPushChannel,
  WebPushKey,
} from '../domain/notifications/push-channel.ts';
import { PushPreview, PushPreviewRequest } from '../domain/notifications/message-settings.ts';
import type { PushChannelRow } from '../postgres/notifications/push-channels.ts';
import { operation } from './operation.ts';

const channelAnswer = ({ provider, enabled, pace, shown, created, updated }: PushChannelRow): PushChannel => ({
  provider,
  enabled,
  pace,
  credentials: shown,
  created: created.toISOString(),
  updated: updated.toISOString(),
});

export const adminPushChannelsList = operation('admin_push_channels_list', 'GET /v1/messages/push-channels', {
  summary: 'The channels through which Laurel sends push notifications, without their secrets',
  responses: { 200: PushChannels },
  answer: async ({ pushChannels }, { tenant }) => ({
    channels: (await pushChannels.list(tenant.no)).map(channelAnswer),
  }),
});

export const adminPushChannelsGet = operation('admin_push_channels_get', 'GET /v1/messages/push-channels/{provider}', {
  summary: 'The channel of a provider, without its secrets',
  params: PushChannelParams,
  responses: { 200: PushChannel },
  answer: async ({ pushChannels }, { tenant, params }) =>
    channelAnswer(await pushChannels.get(tenant.no, params.provider)),
});

export const adminPushChannelsPut = operation('admin_push_channels_put', 'PUT /v1/messages/push-channels/{provider}', {
  summary: 'Set the channel of a provider',
  description:
    'Replaces the channel as a whole. Omitted `credentials` stay unchanged. Each provider has its own: `serviceAccount` (fcm), ' +
    '`privateKey`, `keyId`, `teamId`, `topic` and `environment` (apns), `accessToken` (expo), `publicKey`, `privateKey` and ' +
    '`subject` (web_push).',
  mayConflict: true,
  params: PushChannelParams,
  body: SentPushChannel,
  knownFields: SentPushChannel,
  responses: { 200: PushChannel },
  answer: async ({ pushChannels }, { tenant, by, params, body }) =>
    channelAnswer(await pushChannels.put({ tenantNo: tenant.no, provider: params.provider, by }, body)),
});

export const adminPushChannelsDelete = operation(
  'admin_push_channels_delete',
  'DELETE /v1/messages/push-channels/{provider}',
  {
    summary: 'Delete the channel of a provider; with the last one, push notifications that wait are dropped',
    params: PushChannelParams,
    responses: { 204: null },
    answer: async ({ pushChannels }, { tenant, by, params }) => {
      await pushChannels.delete({ tenantNo: tenant.no, provider: params.provider, by });
      return undefined;
    },
  },
);

export const adminPushChannelsTest = operation(
  'admin_push_channels_test',
  'POST /v1/messages/push-channels/{provider}/test',
  {
    summary: 'Send a test through the channel to a device or to the devices of a user, and wait for the results',
    description:
      'Works for a disabled channel, too. `sent` means that the provider took it, not that a device showed it. A test removes no ' +
      'token. The answer comes within 20 seconds.',
    mayConflict: true,
    params: PushChannelParams,
    body: PushTest,
    knownFields: PushTest,
    responses: { 200: PushTestResults },
    answer: ({ pushChannels }, { tenant, by, params, body }) =>
      pushChannels.test({ tenantNo: tenant.no, provider: params.provider, by }, body),
  },
);

export const adminPushPreview = operation('admin_push_preview', 'POST /v1/messages/preview/push', {
  keyScopes: ['read'],
  audited: false,
  summary: 'A push notification as a user would get it now; nothing is sent',
  description:
    'Renders the template of the configuration, in the user’s locale, or the `template` of the request. The figures are those of ' +
    '`POST /v1/messages/preview`.',
  body: PushPreviewRequest,
  knownFields: PushPreviewRequest,
  responses: { 200: PushPreview },
  answer: ({ previewPush }, { tenant, body }) => previewPush(tenant.no, body),
});

export const webPushKeyGet = operation('web_push_key', 'GET /v1/push/web-key', {
  summary: 'The key with which a browser subscribes to push notifications',
  description: 'Store the subscription, as JSON text, in the user’s `deviceTokens`.',
  refusesUnknownQuery: true,
  responses: { 200: WebPushKey },
  answer: async ({ pushChannels }, { tenant }) => ({ publicKey: await pushChannels.webKey(tenant.no) }),
});
