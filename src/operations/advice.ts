import { Type } from 'typebox';
import { AdviceItem } from '../domain/administration/advice.ts';
import { operation } from './operation.ts';

export const adminAdviceList = operation('admin_advice_list', 'GET /v1/advice', {
  summary: 'What an administrator could improve, at most one item per code',
  description: `Sentences for a person, with the place in the console: events that are refused, weeks with unusually few or many events, configuration
that nobody uses or reaches, triggers that award nearly all points of their system, and what will run out: rewards, leaderboards, limits.
Judges the last 30 days, and nothing that is younger than 2 days; achievements need 20 users and 7 days. Empty if there is nothing to say. \`GET /v1/attention\` has what is broken. For a key of all tenants also
the admin keys that were never used, or not for 90 days.`,
  responses: { 200: Type.Array(AdviceItem) },
  answer: async ({ advice, catalogs }, { tenant, caller }) =>
    advice(await catalogs.of(tenant.no), { ofAll: caller.tenantNo === null }),
});
