import { Type } from 'typebox';
import { Uuid } from '../schemas.ts';
import { BADGE, DESCRIPTION, field, KEY, NAME } from './field.ts';

export const REWARD = {
  name: NAME,
  key: { ...KEY, example: 'sticker-pack', fixed: true },
  description: DESCRIPTION,
  badge: BADGE,
  pointsSystemId: field(Uuid, {
    label: 'Paid with',
    description: 'ID of the points system whose points pay for it.',
    default: null,
    required: true,
    fixed: true,
    refersTo: 'points system',
  }),
  price: field(Type.Integer({ minimum: 1 }), {
    label: 'Price',
    description: 'Points that a claim costs.',
    example: 250,
    required: true,
  }),
  stock: field(Type.Integer({ minimum: 0 }), {
    label: 'Stock',
    description:
      'How many claims there may ever be, apart from cancelled ones; null: any number. Below the number of claims so far, nothing more can be claimed.',
    example: 50,
    clearable: true,
    default: null,
    form: { hint: 'Empty: unlimited. Claims so far count' },
  }),
  limitPerUser: field(Type.Integer({ minimum: 1 }), {
    label: 'Limit per user',
    description: 'How many claims a user may have, apart from cancelled ones; null: any number.',
    example: 1,
    clearable: true,
    default: null,
    form: { hint: 'Empty: unlimited' },
  }),
  claimableByUsers: field(Type.Boolean(), {
    label: "Users' keys may claim it",
    description: "Whether users' keys may claim the reward for their user. Admin keys always may.",
    default: true,
  }),
  status: field(Type.Enum(['active', 'inactive']), {
    label: 'Status',
    description: 'An inactive reward is not listed for users and cannot be claimed.',
    default: 'inactive',
    form: { initial: 'active' },
  }),
} as const;
