import {
  FeedbackCounts,
  FeedbackParams,
  KnownFeedbackFields,
  MessageFeedback,
  MessageFeedbackAddress,
  SentMessageFeedback,
  SentReports,
} from '../domain/notifications/message-feedback.ts';
import type { FeedbackRow } from '../postgres/notifications/message-feedback.ts';
import { operation } from './operation.ts';

/** A thousand reports with long reasons. */
const BODY_BYTES = 1_048_576;

const feedbackAnswer = ({ format, created, updated, received }: FeedbackRow): MessageFeedback => ({
  format,
  created: created.toISOString(),
  updated: updated.toISOString(),
  received: received?.toISOString() ?? null,
});

export const messagesFeedback = operation('messages_feedback', 'POST /v1/messages/feedback/{token}', {
  summary: 'Report what became of e-mails, for mail providers',
  description:
    'The address, with its token, is that of `PUT /v1/messages/feedback` on the admin port; it needs no key. The body has the shape ' +
    'that is set there. The answer counts the reports; send all of them again after a 429 or 503.',
  scope: 'public',
  params: FeedbackParams,
  // Nobody but the provider may have a body of 1 MiB parsed.
  admits: ({ feedback }, { token }) => void feedback.addressOf(token),
  body: SentReports,
  bodyBytes: BODY_BYTES,
  refusesUnknownQuery: true,
  responses: { 200: FeedbackCounts },
  answer: ({ feedback }, { params, body }) => feedback.receive(params.token, body),
});

export const adminMessagesFeedbackGet = operation('admin_messages_feedback_get', 'GET /v1/messages/feedback', {
  summary: 'The shape of the mail provider’s reports, and when one last came',
  responses: { 200: MessageFeedback },
  answer: async ({ feedbackSettings }, { tenant }) => feedbackAnswer(await feedbackSettings.get(tenant.no)),
});

export const adminMessagesFeedbackPut = operation('admin_messages_feedback_put', 'PUT /v1/messages/feedback', {
  summary: 'Create, change or replace the address at which the mail provider reports bounces and complaints',
  description: 'The answer has the address. Omitted fields stay unchanged.',
  mayConflict: true,
  body: SentMessageFeedback,
  knownFields: KnownFeedbackFields,
  responses: { 200: MessageFeedbackAddress },
  answer: async ({ feedbackSettings }, { tenant, by, body }) => {
    const row = await feedbackSettings.put({ tenantNo: tenant.no, by }, body);
    return { ...feedbackAnswer(row), url: row.url };
  },
});

export const adminMessagesFeedbackDelete = operation('admin_messages_feedback_delete', 'DELETE /v1/messages/feedback', {
  summary: 'End the address at which the mail provider reports',
  responses: { 204: null },
  answer: ({ feedbackSettings }, { tenant, by }) => feedbackSettings.delete({ tenantNo: tenant.no, by }),
});
