import { Type } from 'typebox';
import {
  KnownChannelFields,
  type Message,
  MessageChannel,
  MessageQuery,
  MessageReadiness,
  Messages,
  MessageTest,
  MessageTestResult,
  SentMessageChannel,
  SuppressedAddresses,
  SuppressedParams,
  SuppressionQuery,
} from '../domain/notifications/message-channel.ts';
import {
  MessagePreview,
  MessagePreviewRequest,
  UnsubscribePreview,
  UnsubscribePreviewRequest,
} from '../domain/notifications/message-settings.ts';
import { Uuid } from '../domain/schemas.ts';
import { UserId } from '../domain/user.ts';
import { picked } from '../picked.ts';
import type { LoggedMessage } from '../postgres/notifications/messages.ts';
import type { ChannelRow } from '../postgres/notifications/message-channels.ts';
import { jsonParts } from '../pacing/slices.ts';
import { operation } from './operation.ts';
import { isoTimeOrNull } from '../domain/periods.ts';

/** A template of the greatest length, in JSON. */
export const PREVIEW_BODY_BYTES = 524_288;

const channelAnswer = (row: ChannelRow): MessageChannel => ({
  enabled: row.enabled,
  transport: row.http === null ? 'smtp' : 'http',
  ...picked(row, ['host', 'port', 'security', 'username']),
  hasPassword: row.http === null && row.password !== null,
  http: row.http && {
    ...row.http,
    secretHeaders: Object.fromEntries(row.http.secretHeaders.map((name) => [name, null])),
  },
  ...picked(row, ['senderAddress', 'senderName', 'replyTo', 'pace']),
  created: row.created.toISOString(),
  updated: row.updated.toISOString(),
});

export const adminMessagesChannelGet = operation('admin_messages_channel_get', 'GET /v1/messages/channel', {
  summary: 'The channel through which Laurel sends e-mails, without its password',
  responses: { 200: MessageChannel },
  answer: async ({ messageChannels }, { tenant }) => channelAnswer(await messageChannels.get(tenant.no)),
});

export const adminMessagesChannelPut = operation('admin_messages_channel_put', 'PUT /v1/messages/channel', {
  summary: 'Set the channel through which Laurel sends e-mails',
  description:
    'Replaces the channel as a whole. An omitted `password` stays unchanged, unless host, port, security or username change. With ' +
    '`transport` `http`, Laurel posts e-mails to `http.url` instead, and `host`, `port` and `security` are those of the URL. ' +
    'The server must have a public address, as for webhooks.',
  mayConflict: true,
  body: SentMessageChannel,
  knownFields: KnownChannelFields,
  responses: { 200: MessageChannel },
  answer: async ({ messageChannels }, { tenant, by, body }) =>
    channelAnswer(await messageChannels.put({ tenantNo: tenant.no, by }, body)),
});

export const adminMessagesChannelDelete = operation('admin_messages_channel_delete', 'DELETE /v1/messages/channel', {
  summary: 'Delete the channel; e-mails that wait are dropped',
  responses: { 204: null },
  answer: async ({ messageChannels }, { tenant, by }) => {
    await messageChannels.delete({ tenantNo: tenant.no, by });
    return undefined;
  },
});

export const adminMessagesChannelTest = operation('admin_messages_channel_test', 'POST /v1/messages/channel/test', {
  summary: 'Send a test e-mail through the channel to an address, and wait for the result',
  description:
    'Works for a disabled channel, too. `sent` means that the mail server took the e-mail, not that it arrived. ' +
    'The answer comes within 20 seconds.',
  mayConflict: true,
  body: MessageTest,
  knownFields: MessageTest,
  responses: { 200: MessageTestResult },
  answer: async ({ messageChannels }, { tenant, by, body }) => {
    const { outcome, reason } = await messageChannels.test({ tenantNo: tenant.no, by }, body.to);
    return { outcome, reason };
  },
});

export const adminMessagesReadiness = operation('admin_messages_readiness', 'GET /v1/messages/readiness', {
  summary: 'Whether the installation has the settings that sending e-mails needs',
  responses: { 200: MessageReadiness },
  answer: ({ messageChannels }, { tenant }) => messageChannels.readiness(tenant.no),
});

export const adminMessagesPreview = operation('admin_messages_preview', 'POST /v1/messages/preview', {
  keyScopes: ['read'],
  audited: false,
  summary: 'An e-mail as a user would get it now; nothing is sent',
  description:
    'Renders the template of the configuration, in the user’s locale, or the `template` of the request. The figures are the user’s ' +
    'present ones: the streak, the achievement completed last, the last period of a recap, and the first reactivation message. ' +
    'The link to unsubscribe is an example.',
  body: MessagePreviewRequest,
  bodyBytes: PREVIEW_BODY_BYTES,
  knownFields: MessagePreviewRequest,
  responses: { 200: MessagePreview },
  handle: async ({ previewMessage }, { tenant, body }) => ({
    status: 200,
    chunks: jsonParts(await previewMessage(tenant.no, body), 1),
  }),
});

export const adminMessagesUnsubscribePreview = operation(
  'admin_messages_unsubscribe_preview',
  'POST /v1/messages/preview/unsubscribe',
  {
    keyScopes: ['read'],
    audited: false,
    summary: 'The page to unsubscribe as a user would get it now; nobody is unsubscribed',
    description:
      'Has the texts of the configuration, in the user’s locale, or those of `page` in the request. Without either, it has the built-in texts. ' +
      'A browser’s language, which real visits also consider, is not considered.',
    body: UnsubscribePreviewRequest,
    knownFields: UnsubscribePreviewRequest,
    responses: { 200: UnsubscribePreview },
    answer: ({ unsubscribing }, { tenant, body }) => unsubscribing.preview(tenant.no, body),
  },
);

const messageAnswer = (row: LoggedMessage): Message => ({
  ...picked(row, ['id', 'userId', 'kind', 'medium', 'status', 'tries', 'reason']),
  at: new Date(row.atMs).toISOString(),
  nextTry: isoTimeOrNull(row.dueMs),
  finished: row.finished?.toISOString() ?? null,
  reported: isoTimeOrNull(row.reportedMs),
  opened: isoTimeOrNull(row.openedMs),
  clicked: isoTimeOrNull(row.clickedMs),
  unsubscribed: isoTimeOrNull(row.unsubscribedMs),
});

export const adminMessagesList = operation('admin_messages_list', 'GET /v1/messages', {
  summary:
    'The log of e-mails and push notifications that were sent, wait or were dropped, newest first, without addresses and content',
  query: MessageQuery,
  responses: { 200: Messages },
  answer: async ({ emailLog }, { tenant, query }) => {
    const { rows, nextCursor } = await emailLog.list(tenant.no, query);
    return { messages: rows.map(messageAnswer), nextCursor };
  },
});

export const usersMessageOpened = operation('users_message_opened', 'POST /v1/users/{id}/messages/{messageId}/opened', {
  keyScopes: ['profile'],
  summary: 'Report that a user opened a push notification, for apps',
  description:
    'The app got `messageId` with the notification. Counts once, with the first time, if the tenant records opens (`trackOpens`) and the message ' +
    'is one to this user; otherwise nothing happens. It is recorded within a second.',
  params: Type.Object({ id: UserId, messageId: Uuid }),
  refusesUnknownQuery: true,
  responses: { 204: null },
  namedUsers: ({ params }) => [params.id],
  answer: ({ seenMessages }, { tenant, params: { id, messageId } }) => {
    seenMessages.note('opened', { tenantNo: tenant.no, id: messageId, userId: id });
    return undefined;
  },
});

export const adminMessagesSuppressedList = operation('admin_messages_suppressed_list', 'GET /v1/messages/suppressed', {
  summary: 'Addresses that get no e-mails: refused or bounced for good, or after a complaint; in alphabetical order',
  query: SuppressionQuery,
  responses: { 200: SuppressedAddresses },
  answer: async ({ emailLog }, { tenant, query }) => {
    const { rows, nextCursor } = await emailLog.suppressed(tenant.no, query);
    return { addresses: rows.map((row) => ({ ...row, at: row.at.toISOString() })), nextCursor };
  },
});

export const adminMessagesSuppressedDelete = operation(
  'admin_messages_suppressed_delete',
  'DELETE /v1/messages/suppressed/{address}',
  {
    summary: 'Allow e-mails to a suppressed address again',
    params: SuppressedParams,
    responses: { 204: null },
    answer: async ({ emailLog }, { tenant, by, params }) => {
      await emailLog.unsuppress(tenant.no, params.address, by);
      return undefined;
    },
  },
);
