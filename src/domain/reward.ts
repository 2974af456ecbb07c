import { type Static, Type } from 'typebox';
import { Nullable, Uuid } from './schemas.ts';
import { UserId } from './user.ts';

const NullableText = Nullable(Type.String());
const NullableTime = Nullable(Type.String({ format: 'date-time' }));

/** A reward that users can claim. */
const OfferedReward = Type.Object({
  id: Uuid,
  key: Type.String(),
  name: Type.String(),
  description: NullableText,
  badgeUrl: NullableText,
  /** Key of the points system. */
  pointsSystem: Type.String(),
  price: Type.Integer(),
  stock: Nullable(Type.Integer()),
  /** How many can still be claimed; `null` for any number. */
  remaining: Nullable(Type.Integer()),
  limitPerUser: Nullable(Type.Integer()),
});

export const UserReward = Type.Object({
  ...OfferedReward.properties,
  /** The user's claims, apart from cancelled ones. */
  claims: Type.Integer(),
  /** The user's balance in the points system. */
  balance: Type.Integer(),
  affordable: Type.Boolean(),
  /** Whether a claim would succeed now. */
  claimable: Type.Boolean(),
});
export type UserReward = Static<typeof UserReward>;

export const ClaimState = Type.Enum(['claimed', 'fulfilled', 'cancelled']);

export const Claim = Type.Object({
  /** Also the ID of the spending. */
  id: Uuid,
  userId: Type.String(),
  /** Its present key and name; the last ones if it was deleted. */
  reward: Type.Object({ id: Nullable(Uuid), key: NullableText, name: NullableText }),
  pointsSystem: NullableText,
  price: Type.Integer(),
  state: ClaimState,
  /** Why it was cancelled. */
  reason: NullableText,
  claimedAt: NullableTime,
  fulfilledAt: NullableTime,
  cancelledAt: NullableTime,
});
export type Claim = Static<typeof Claim>;

export const ClaimRequest = Type.Object({ userId: UserId });

export const CancelRequest = Type.Object({ reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })) });

/** The stock of rewards. */
export const RewardStock = Type.Object({
  id: Uuid,
  key: Type.String(),
  name: Type.String(),
  /** Claims so far, apart from cancelled ones. */
  claimed: Type.Integer(),
  /** How many can still be claimed; `null` for any number. */
  remaining: Nullable(Type.Integer()),
});
export type RewardStock = Static<typeof RewardStock>;

const page = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  cursor: Type.Optional(Uuid),
  state: Type.Optional(ClaimState),
};

export const UserClaimsQuery = Type.Object(page);
export const ClaimsQuery = Type.Object({
  ...page,
  userId: Type.Optional(UserId),
  /** Key of a reward. */
  reward: Type.Optional(Type.String()),
});
export type ClaimsQuery = Static<typeof ClaimsQuery>;

export const Claims = Type.Object({ claims: Type.Array(Claim), nextCursor: NullableText });
export type Claims = Static<typeof Claims>;
