import { Type } from 'typebox';
import { AttentionItem, MOST_COUNTED } from '../domain/administration/attention.ts';
import { operation } from './operation.ts';

export const adminAttentionList = operation('admin_attention_list', 'GET /v1/attention', {
  needsRedis: false,
  summary: 'What needs an administrator, the most urgent first; empty if nothing does',
  description: `Webhooks that Laurel disabled, whose queue is full, that failed 10 times in a row, or whose oldest message has waited for an
hour; channels for e-mails or push notifications whose last 5 or more attempts failed, for 5 minutes; events in quarantine; jobs that failed in the last 7 days or failed 3 times in a row. For a key of all tenants also the organisation's dead
letters, jobs of the whole installation, a Redis that uses 90 % of its memory limit, a
disk of Postgres that is nearly full, if \`POSTGRES_DISK_GB\` says its size or Laurel started Postgres itself, and a backlog that is so full that events are refused. Counts of messages and events end at
${MOST_COUNTED.toLocaleString('en')}.`,
  responses: { 200: Type.Array(AttentionItem) },
  answer: ({ attention }, { tenant, caller }) => attention({ tenantNo: tenant.no, ofAll: caller.tenantNo === null }),
});
