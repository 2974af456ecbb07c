import { Type } from 'typebox';
import { ShownRequest } from '../../domain/recent-request.ts';
import { operation } from '../operation.ts';

export const adminRequestsList = operation({
  id: 'admin_requests_list',
  surface: 'admin',
  method: 'get',
  path: '/v1/requests',
  summary: 'The tenant’s latest requests, newest first: path, status, duration and key',
  description:
    'Requests of both APIs whose key was accepted, for an hour: the latest 1,000, or 100 of each tenant with multi-tenancy. ' +
    'Bodies and queries are not kept. A process lists up to 50 requests a second, 20 of them of one key. Reads of the console and of this list are not listed.',
  query: Type.Object({ limit: Type.Integer({ minimum: 1, maximum: 1_000, default: 100 }) }),
  responses: { 200: Type.Array(ShownRequest) },
  handle: async ({ recentRequests }, { tenant, query: { limit } }) => {
    // Entries have the machine's time, whatever a test clock says.
    const found = await recentRequests.read(tenant.no, { limit, nowMs: Date.now() });
    return {
      status: 200,
      body: found.map(({ atMs, prefix, ...request }) => ({
        at: new Date(atMs).toISOString(),
        ...request,
        key: prefix,
      })),
    };
  },
});
