import type { Exchange } from './exchange.ts';

/** The organisation itself, with its tenants and admin keys. */
export const ORGANISATION: readonly Exchange[] = [
  {
    operation: 'admin_clock_put',
    body: { now: '2026-02-26T09:30:00.000Z' },
    status: 200,
    answer: { now: '2026-02-26T09:30:00.000Z' },
  },
  { operation: 'admin_clock_get', status: 200, answer: { now: '2026-02-26T09:30:00.000Z' } },
  {
    operation: 'openapi_get',
    status: 200,
    answer: { openapi: '3.1.0', info: { title: 'Laurel Application API', version: '1.19.0' }, paths: {} },
  },
  {
    operation: 'admin_openapi_get',
    status: 200,
    answer: { openapi: '3.1.0', info: { title: 'Laurel Admin API', version: '1.19.0' }, paths: {} },
  },
  {
    operation: 'admin_session_create',
    body: { key: 'adm_7kq2xw.Zm9yIHRoZSByZWZlcmVuY2UgcGFnZSBvbmx5' },
    status: 201,
    answer: {
      prefix: 'adm_7kq2xw',
      name: 'First key',
      access: 'full',
      tenantId: null,
      expiresAt: '2026-11-23T01:02:47.498Z',
      csrfToken: 'Dy9pmNUCSvh-mvM4PYq7CD1TMb9GrkmGihKDNfCOn-Y',
    },
  },
  {
    operation: 'admin_session_get',
    status: 200,
    answer: {
      prefix: 'adm_7kq2xw',
      name: 'First key',
      access: 'full',
      tenantId: null,
      expiresAt: null,
      csrfToken: null,
    },
  },
  { operation: 'admin_session_delete', status: 204 },
  {
    operation: 'admin_organisation_update',
    body: { name: 'Acme Learning', controlShare: 0.1 },
    status: 200,
    answer: { name: 'Acme Learning', multiTenancy: false, controlShare: 0.1, boardValues: 'byClient', demo: false },
  },
  {
    operation: 'admin_organisation_get',
    status: 200,
    answer: { name: 'Acme Learning', multiTenancy: false, controlShare: 0.1, boardValues: 'byClient', demo: false },
  },
  {
    operation: 'admin_settings_update',
    body: {
      branding: { appName: 'Acme Cards', appUrl: 'https://cards.example.org', brandColor: '#22704F' },
      aggregationPeriod: 'weekly',
    },
    status: 200,
    answer: {
      branding: {
        appName: 'Acme Cards',
        appUrl: 'https://cards.example.org',
        brandColor: '#22704F',
        font: 'MODERN_SANS',
        logo: null,
        appIcon: null,
      },
      experimentation: { controlRatio: 10, userActivationWindow: 7 },
      aggregationPeriod: 'weekly',
    },
  },
  {
    operation: 'admin_settings_get',
    status: 200,
    answer: {
      branding: {
        appName: 'Acme Cards',
        appUrl: 'https://cards.example.org',
        brandColor: '#22704F',
        font: 'MODERN_SANS',
        logo: null,
        appIcon: null,
      },
      experimentation: { controlRatio: 10, userActivationWindow: 7 },
      aggregationPeriod: 'weekly',
    },
  },
  {
    operation: 'admin_environments_list',
    status: 200,
    answer: [{ name: 'Production', key: 'production', priority: 1 }],
  },
  {
    operation: 'admin_tenants_create',
    body: [{ customerId: 'north', name: 'Northern schools' }],
    status: 201,
    answer: {
      created: [
        {
          id: '01a2035a-217a-717a-8a25-f69c235d7ce0',
          customerId: 'north',
          name: 'Northern schools',
          status: 'active',
          created: '2026-02-26T09:30:00.000Z',
          updated: '2026-02-26T09:30:00.000Z',
        },
      ],
      issues: [],
    },
  },
  {
    operation: 'admin_tenants_list',
    query: { limit: 10 },
    status: 200,
    answer: [
      {
        id: '01a2035a-217a-717a-8a25-f69c235d7ce0',
        customerId: 'north',
        name: 'Northern schools',
        status: 'active',
        created: '2026-02-26T09:30:00.000Z',
        updated: '2026-02-26T09:30:00.000Z',
      },
    ],
  },
  {
    operation: 'admin_tenants_get',
    params: { id: '01a2035a-217a-717a-8a25-f69c235d7ce0' },
    status: 200,
    answer: {
      id: '01a2035a-217a-717a-8a25-f69c235d7ce0',
      customerId: 'north',
      name: 'Northern schools',
      status: 'active',
      created: '2026-02-26T09:30:00.000Z',
      updated: '2026-02-26T09:30:00.000Z',
    },
  },
  {
    operation: 'admin_tenants_update',
    body: [{ id: '01a2035a-217a-717a-8a25-f69c235d7ce0', name: 'Schools in the north' }],
    status: 200,
    answer: {
      updated: [
        {
          id: '01a2035a-217a-717a-8a25-f69c235d7ce0',
          customerId: 'north',
          name: 'Schools in the north',
          status: 'active',
          created: '2026-02-26T09:30:00.000Z',
          updated: '2026-02-26T09:30:00.000Z',
        },
      ],
      issues: [],
    },
  },
  {
    operation: 'admin_admin_api_keys_create',
    body: [{ name: 'Nightly export', access: 'read' }],
    status: 201,
    answer: {
      created: [
        {
          id: '01a2035a-2305-727f-9039-a43046405371',
          prefix: 'adm_3uj52acd',
          name: 'Nightly export',
          status: 'active',
          access: 'read',
          tenantId: null,
          created: '2026-02-26T09:30:00.000Z',
          lastUsed: null,
          key: 'adm_3uj52acd.SUbEAljCN-7-x1ZMQtunbpbDOIbvpS3N8fTYImW4Ebs',
        },
      ],
      issues: [],
    },
  },
  {
    operation: 'admin_admin_api_keys_list',
    query: { limit: 10 },
    status: 200,
    answer: [
      {
        id: '01a2035a-0c25-71be-a5e3-c17fd03cdd7f',
        prefix: 'adm_7kq2xw',
        name: 'First key',
        status: 'active',
        access: 'full',
        tenantId: null,
        created: '2026-11-22T13:02:42.725Z',
        lastUsed: '2026-02-26T09:30:00.000Z',
      },
      {
        id: '01a2035a-2305-727f-9039-a43046405371',
        prefix: 'adm_3uj52acd',
        name: 'Nightly export',
        status: 'active',
        access: 'read',
        tenantId: null,
        created: '2026-02-26T09:30:00.000Z',
        lastUsed: null,
      },
    ],
  },
  {
    operation: 'admin_admin_api_keys_update',
    body: [{ id: '01a2035a-2305-727f-9039-a43046405371', name: 'Weekly export' }],
    status: 200,
    answer: {
      updated: [
        {
          id: '01a2035a-2305-727f-9039-a43046405371',
          prefix: 'adm_3uj52acd',
          name: 'Weekly export',
          status: 'active',
          access: 'read',
          tenantId: null,
          created: '2026-02-26T09:30:00.000Z',
          lastUsed: null,
        },
      ],
      issues: [],
    },
  },
  {
    operation: 'admin_admin_api_keys_rotate',
    params: { id: '01a2035a-2305-727f-9039-a43046405371' },
    status: 200,
    answer: {
      id: '01a2035a-2305-727f-9039-a43046405371',
      prefix: 'adm_3uj52acd',
      name: 'Weekly export',
      status: 'active',
      access: 'read',
      tenantId: null,
      created: '2026-02-26T09:30:00.000Z',
      lastUsed: null,
      key: 'adm_3uj52acd.i7Q0EM00ewyb0adfOu1daHNB4enaYM1jInb2crB5Xmo',
    },
  },
];
