import { queryOptions, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer } from '../api/answer.ts';
import { curl } from '../api/bodies.ts';
import { useChange } from '../api/change.ts';
import { admin } from '../api/client.ts';
import { type AdminRead, pointsQuery, type Reward, rewardsQuery } from '../api/queries.ts';
import { useMayChange } from '../api/session.ts';
import { editsOf, ResourceList } from '../resource/resource-list.tsx';
import { useForm } from '../resource/use-form.ts';
import { BadgedName } from '../ui/badge.tsx';
import { ConfirmedButton } from '../ui/confirmed.tsx';
import { SelectInput, TextInput } from '../ui/fields.tsx';
import { Ago } from '../ui/ago.tsx';
import { counted, number } from '../ui/format.ts';
import { PagedTable } from '../ui/paged-table.tsx';
import { Code, Empty, Screen, Status } from '../ui/parts.tsx';
import type { Column } from '../ui/table-frame.tsx';
import { Options } from '../ui/options.tsx';
import { UserLink } from '../ui/user-link.tsx';

type Claim = AdminRead<'/v1/claims'>['claims'][number];
type State = Claim['state'];

const STATES: readonly State[] = ['claimed', 'fulfilled', 'cancelled'];

const orNone = (value: number | null): string => (value === null ? '–' : number(value));

/** Claims change the stock, also those of users: it is read again while the screen is open. */
const stockQuery = queryOptions({
  queryKey: ['rewards', 'stock'],
  refetchInterval: 30_000,
  queryFn: () => answer(admin.GET('/v1/analytics/rewards')),
});

const PRICE: Column<Reward> = {
  id: 'price',
  header: 'Price',
  align: 'right',
  cell: (reward) => <Price reward={reward} />,
};

const COLUMNS: readonly Column<Reward>[] = [
  {
    id: 'name',
    header: 'Name',
    value: ({ name }) => name,
    cell: (item) => <BadgedName {...item} />,
  },
  { id: 'key', folds: true, header: 'Key', value: ({ key }) => key, cell: ({ key }) => <Code>{key}</Code> },
  PRICE,
  { id: 'stock', folds: true, header: 'Stock', align: 'right', cell: ({ stock }) => orNone(stock) },
  { id: 'left', header: 'Left', align: 'right', cell: ({ id }) => <Left of={id} /> },
  {
    id: 'limit',
    folds: true,
    header: 'Limit per user',
    align: 'right',
    cell: ({ limitPerUser }) => orNone(limitPerUser),
  },
  { id: 'status', header: 'Status', cell: ({ status }) => <Status of={status} /> },
];

/** How many can still be claimed. */
function Left({ of }: { of: string }) {
  const stock = useQuery(stockQuery).data?.find(({ id }) => id === of);
  if (stock === undefined || stock.remaining === null) return '–';
  return stock.remaining === 0 ? <Status of="sold out" /> : number(stock.remaining);
}

function Price({ reward: { price, pointsSystemId } }: { reward: Reward }) {
  const systems = useQuery(pointsQuery).data;
  return (
    <>
      {number(price)} {systems?.find(({ id }) => id === pointsSystemId)?.key}
    </>
  );
}

const CLAIM_COLUMNS: readonly Column<Claim>[] = [
  {
    id: 'user',
    header: 'User',
    cell: ({ userId }) => <UserLink id={userId} />,
  },
  { id: 'reward', header: 'Reward', cell: ({ reward }) => reward.name ?? 'deleted' },
  {
    id: 'price',
    header: 'Price',
    align: 'right',
    cell: ({ price, pointsSystem }) => `${number(price)} ${pointsSystem ?? ''}`,
  },
  {
    id: 'at',
    header: 'Claimed',
    cell: ({ claimedAt }) => claimedAt && <Ago at={claimedAt} />,
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ state, reason }) => (
      <span title={reason ?? undefined}>
        <Status of={state} />
      </span>
    ),
  },
];

const ACTIONS: Column<Claim> = { id: 'actions', header: 'Delivery', cell: (claim) => <Deliver claim={claim} /> };

/** Fulfils a claim, or cancels it. */
function Deliver({ claim: { id, userId, state, reward, price } }: { claim: Claim }) {
  const path = { params: { path: { id } } };
  const fulfil = useChange({
    run: () => answer(admin.POST('/v1/claims/{id}/fulfil', path)),
    done: 'The claim is fulfilled.',
  });
  const cancel = useChange({
    run: () => answer(admin.POST('/v1/claims/{id}/cancel', { ...path, body: {} })),
    done: 'The claim is cancelled, and its points are given back.',
  });
  if (state !== 'claimed') return null;
  const what = `${reward.name ?? 'the reward'} of ${userId}`;
  return (
    <span className="flex gap-2">
      <ConfirmedButton
        change={fulfil}
        aria-label={`Fulfil ${what}`}
        title={`Has ${userId} got it?`}
        action="Fulfil"
        about={`Notes that ${userId} has got ${reward.name ?? 'the reward'}. This cannot be undone.`}
      >
        Fulfil
      </ConfirmedButton>
      <ConfirmedButton
        look="danger"
        change={cancel}
        aria-label={`Cancel ${what}`}
        title="Cancel the claim?"
        action="Cancel the claim"
        about={`Gives ${counted(price, 'point')} back to ${userId}, and others can claim the reward. This cannot be undone.`}
      >
        Cancel
      </ConfirmedButton>
    </span>
  );
}

/** Claims, newest first, filtered by state and user. */
function ClaimList() {
  const mayChange = useMayChange();
  const [state, setState] = useState<State | ''>('');
  const [userId, setUserId] = useState('');
  const read = async (cursor: string, limit: number): Promise<Claim[]> => {
    const query = {
      limit,
      ...(cursor !== '' && { cursor }),
      ...(state !== '' && { state }),
      ...(userId !== '' && { userId }),
    };
    return (await answer(admin.GET('/v1/claims', { params: { query } }))).claims;
  };
  return (
    <>
      <h2 className="text-base font-semibold">Claims</h2>
      <div className="flex flex-wrap gap-3">
        <TextInput
          className="max-w-48"
          aria-label="User"
          placeholder="User ID"
          value={userId}
          onChange={({ target }) => setUserId(target.value)}
        />
        <SelectInput
          className="max-w-48"
          aria-label="State"
          value={state}
          onChange={({ target }) => setState(target.value as State | '')}
        >
          <option value="">All states</option>
          <Options of={STATES.map((each) => [each, each])} />
        </SelectInput>
      </div>
      <PagedTable
        label="Claims"
        columns={[...CLAIM_COLUMNS, ...(mayChange ? [ACTIONS] : [])]}
        rowId={({ id }) => id}
        queryKey={['claims', state, userId]}
        read={read}
        first={'' as string}
        next={(_, last) => last.id}
        empty={
          <Empty title={state === '' && userId === '' ? 'No claims yet' : 'No claims match'}>
            {state === '' && userId === ''
              ? 'What users claim appears here, for you to deliver.'
              : 'Clear the filters to see all claims.'}
          </Empty>
        }
      />
    </>
  );
}

export const Rewards = () => (
  <Screen title="Rewards" about="What users can claim for points, and their claims, which you fulfil or cancel.">
    <ResourceList
      noun="reward"
      nameOf={({ name }) => name}
      query={rewardsQuery}
      columns={COLUMNS}
      fields={useForm('reward')}
      {...editsOf('/v1/rewards')}
      removal="Nobody can claim it any longer. Its claims stay."
      empty={
        <Empty
          title="No rewards yet"
          curl={curl('POST', '/v1/rewards', [
            { key: 'mug', name: 'Mug', pointsSystemId: '…', price: 250, status: 'active' },
          ])}
        >
          With rewards, users spend points. Create one here, or with:
        </Empty>
      }
    />
    <ClaimList />
  </Screen>
);
