import { Type } from 'typebox';
import { OrganisationSettings } from '../administration/admin.ts';
import { KEY_SCOPES } from '../administration/author.ts';
import { CustomerId, RequestsPerSecond } from '../schemas.ts';
import { ChangedBranding, Experimentation, Picture, Settings } from '../settings.ts';
import { UserId } from '../user.ts';
import { field } from './field.ts';

export const ORGANISATION = {
  name: field(OrganisationSettings.properties.name, {
    label: 'Name',
    description: 'Name of the organisation.',
    required: true,
  }),
  controlShare: field(OrganisationSettings.properties.controlShare, {
    label: 'Share of users in the control group',
    description: 'Share of users in the control group, from 0 to 1.',
    required: true,
    form: { hint: 'From 0 to 1; 0.1 is one user in ten. Your app decides what these users do not see.' },
  }),
  boardValues: field(OrganisationSettings.properties.boardValues, {
    label: 'Leaderboard values',
    description: 'Whether leaderboard values are rounded down to whole numbers.',
    required: true,
    form: {
      options: {
        byClient: 'Rounded down if the client needs it',
        exact: 'Exact for all clients',
        whole: 'Rounded down for all clients',
      },
    },
  }),
  rateLimit: field(RequestsPerSecond, {
    label: 'Requests per second of an application key',
    description: 'Limit of application keys without a limit of their own; null for that of the installation.',
    clearable: true,
    form: { hint: 'For keys without a limit of their own. 0: no limit. Empty: the installation’s RATE_LIMIT.' },
  }),
} as const;

const { appName, appUrl, brandColor, font } = ChangedBranding.properties;

export const BRANDING = {
  appName: field(appName, { label: 'Name of the app', description: 'Name of the app.', required: true }),
  appUrl: field(appUrl, {
    label: 'Address of the app',
    description: 'Address of the app.',
    form: { hint: 'Begins with https:// or http://' },
  }),
  brandColor: field(brandColor, {
    label: 'Colour',
    description: 'Colour of the brand.',
    form: { hint: 'A CSS colour, such as #22704f' },
  }),
  font: field(font, {
    label: 'Font',
    description: 'Family of fonts.',
    required: true,
    form: {
      options: Object.fromEntries(
        font.enum.map((name) => {
          const [family = '', kind = 'mono'] = name.toLowerCase().split('_');
          return [name, `${family.charAt(0).toUpperCase()}${family.slice(1)}${kind === 'mono' ? '' : ` ${kind}`}`];
        }),
      ),
    },
  }),
  logo: field(Picture, { label: 'Logo', description: 'The logo.', clearable: true }),
  appIcon: field(Picture, { label: 'Icon', description: 'The icon of the app.', clearable: true }),
} as const;

export const SETTINGS = {
  aggregationPeriod: field(Settings.properties.aggregationPeriod, {
    label: 'Recap e-mails are due',
    description: 'Period of the recaps.',
    required: true,
    form: { options: { weekly: 'Every Monday, about the week before', monthly: 'On the 1st, about the month before' } },
  }),
  userActivationWindow: field(Experimentation.properties.userActivationWindow, {
    label: 'Activation window in days',
    description: 'Days in which a new user can become active, for the evaluation of experiments.',
    required: true,
    form: { hint: 'From 3 to 30. Stored for programs that evaluate experiments; Laurel does not use it.' },
  }),
} as const;

const LONG_NAME = field(Type.String({ minLength: 1, maxLength: 255 }), {
  label: 'Name',
  description: 'Name for people.',
  required: true,
});

export const TENANT = {
  name: LONG_NAME,
  customerId: field(CustomerId, {
    label: 'Customer ID',
    description: 'Your own ID of the tenant, as the `Tenant-ID` header names it.',
    example: 'acme',
    required: true,
    form: { hint: 'Your own ID of the tenant, for the Tenant-ID header' },
  }),
} as const;

export const ADMIN_KEY = {
  name: LONG_NAME,
  access: field(Type.Enum(['full', 'read']), {
    label: 'Access',
    description: 'Whether the key may do everything, or only read.',
    default: 'full',
    form: { options: { full: 'full: read and change everything', read: 'read only: see everything, change nothing' } },
  }),
  tenantId: field(Type.String({ maxLength: 255 }), {
    label: 'Limit to one tenant',
    description: 'Your own ID of the only tenant that the key is for; null: it is for all.',
    example: 'acme',
    fixed: true,
    clearable: true,
    default: null,
    form: { hint: 'Customer ID of the tenant. Empty: all tenants' },
  }),
  status: field(Type.Enum(['active', 'inactive']), {
    label: 'Status',
    description: 'An inactive key is refused.',
    default: 'active',
    onlyChanged: true,
    form: { hint: 'An inactive key is refused, and its sessions end' },
  }),
} as const;

export const APPLICATION_KEY = {
  userId: field(UserId, {
    label: 'User ID',
    description: 'Your own ID of the user whose key it is.',
    example: '18',
    required: true,
    fixed: true,
  }),
  scope: field(Type.Enum([...KEY_SCOPES]), {
    label: 'Scope',
    description: 'What the key may do.',
    clearable: true,
    default: 'all',
    fixed: true,
    form: {
      options: {
        all: 'all: everything of the user',
        read: 'read: see everything of the user',
        events: 'events: send events, see nothing',
        profile: 'profile: see and change the user’s profile',
      },
    },
  }),
  expiresAt: field(Type.String({ format: 'date-time' }), {
    label: 'Expires',
    description: 'From when on the key is refused; null: never.',
    clearable: true,
    default: null,
    fixed: true,
    form: { hint: 'Empty: never' },
  }),
  rateLimit: field(RequestsPerSecond, {
    label: 'Requests per second',
    description:
      'Requests a second of the key, with bursts of four seconds’ worth; 0: any number; null: the organisation’s limit.',
    clearable: true,
    default: null,
    fixed: true,
    form: { hint: '0: no limit. Empty: the organisation’s limit' },
  }),
} as const;
