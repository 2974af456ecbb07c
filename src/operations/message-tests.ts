import { MessageTestResult } from '../domain/notifications/message-channel.ts';
import { PushTemplateTest, TemplateTest } from '../domain/notifications/message-test.ts';
import { PushTestResults } from '../domain/notifications/push-channel.ts';
import { PREVIEW_BODY_BYTES } from './messages.ts';
import { operation } from './operation.ts';

const LIMITS =
  'A tenant may send 20 tests of templates a minute. The audit log has each, with the user; the log of messages does not. The answer comes ' +
  'within 20 seconds.';

export const adminMessagesTest = operation('admin_messages_test', 'POST /v1/messages/test', {
  summary: 'Send an e-mail with the figures of a user to an address as a test, and wait for the result',
  description:
    'Renders as `POST /v1/messages/preview` does, and sends through the channel, which may be disabled. The subject begins with ' +
    `\`[Test]\`, and the link to unsubscribe is an example. ${LIMITS}`,
  mayConflict: true,
  body: TemplateTest,
  bodyBytes: PREVIEW_BODY_BYTES,
  knownFields: TemplateTest,
  responses: { 200: MessageTestResult },
  answer: ({ testTemplates }, { tenant, by, body }) => testTemplates.email({ tenantNo: tenant.no, by }, body),
});

export const adminPushTest = operation('admin_push_test', 'POST /v1/messages/test/push', {
  summary: 'Send a push notification with the figures of a user to devices as a test, and wait for the results',
  description:
    'Renders as `POST /v1/messages/preview/push` does, and sends through the channels, which may be disabled. The title begins with ' +
    `\`[Test]\`. A test removes no token. ${LIMITS}`,
  mayConflict: true,
  body: PushTemplateTest,
  knownFields: PushTemplateTest,
  responses: { 200: PushTestResults },
  answer: ({ testTemplates }, { tenant, by, body }) => testTemplates.push({ tenantNo: tenant.no, by }, body),
});
