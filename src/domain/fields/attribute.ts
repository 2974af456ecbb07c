import { Type } from 'typebox';
import { WritableBy } from '../schemas.ts';
import { field, KEY, NAME, only } from './field.ts';

export const ATTRIBUTE = {
  name: NAME,
  key: { ...KEY, fixed: true },
  type: field(Type.Enum(['user', 'event']), {
    label: 'Belongs to',
    description: 'Whether users or events have the attribute.',
    required: true,
    fixed: true,
    form: { initial: 'user', options: { user: 'users', event: 'events' } },
  }),
  writableBy: field(WritableBy, {
    label: 'Writable by',
    description:
      "Whose keys may change a user's value: `server`, admin keys only; `user`, the user's application keys too; null: `server` while a " +
      'rule or a leaderboard refers to the attribute, otherwise `user`. Of attributes of users only.',
    clearable: true,
    default: null,
    addition: true,
    when: { ...only('type', 'user'), called: 'attributes of users' },
    form: {
      hint: 'Empty: only servers while a rule or a leaderboard uses the attribute, otherwise users too',
      options: { server: 'servers only (admin keys)', user: 'users too (application keys)' },
    },
  }),
} as const;
