import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, one } from '../api/answer.ts';
import { admin, application } from '../api/client.ts';
import { achievementsQuery, type User } from '../api/queries.ts';
import type { BulkAction } from '../ui/bulk.tsx';
import { Labelled, SelectInput } from '../ui/fields.tsx';
import { saveFile } from '../ui/save-file.ts';
import { Options } from '../ui/options.tsx';

const failureOf = (id: string) => (error: unknown) => [`${id}: ${(error as Error).message}`];

/** Bulk actions on users. */
export function useUserActions(): readonly BulkAction<User>[] {
  const achievements = useQuery(achievementsQuery).data?.filter(
    ({ trigger, key, status }) => trigger === 'api' && key !== undefined && status === 'active',
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const key = chosen ?? achievements?.[0]?.key ?? '';
  /** The documents of an export so far. */
  const [exported] = useState<string[]>(() => []);
  const each = (work: (id: string) => Promise<unknown>) => async (users: readonly User[]) => {
    const { id } = users[0]!;
    return work(id).then(() => [], failureOf(id));
  };
  return [
    {
      label: 'Export',
      reads: true,
      size: 1,
      about: (users) => `Downloads everything that Laurel has about ${users}, one as JSON on each line.`,
      run: each(async (id) => {
        const document = await answer(admin.GET('/v1/users/{id}/export', { params: { path: { id } } }));
        exported.push(`${JSON.stringify(document)}\n`);
      }),
      done: (users) => `Exported: ${users}.`,
      onDone: () => {
        saveFile('users.jsonl', exported.splice(0).join(''));
      },
    },
    {
      label: 'Hide from leaderboards',
      size: 1,
      about: (users) => `Takes ${users} off all leaderboards. The scores are kept.`,
      run: each((id) => answer(admin.PATCH('/v1/users/{id}', { params: { path: { id } }, body: { hidden: true } }))),
      done: (users) => `Hidden: ${users}.`,
    },
    {
      label: 'Give a freeze',
      size: 100,
      about: (users) => `Gives a freeze to ${users}, up to the maximum of each.`,
      run: async (users) => {
        const { issues } = await answer(
          admin.POST('/v1/streaks/freezes', { body: { freezes: users.map(({ id }) => ({ userId: id })) } }),
        );
        return issues.filter(({ severity }) => severity === 'error').map(({ message }) => message);
      },
      done: (users) => `Given to ${users}.`,
    },
    ...(achievements !== undefined && achievements.length > 0
      ? [
          {
            label: 'Award an achievement',
            size: 1,
            about: (users: string) => `Completes the achievement for ${users}, with the points that it awards.`,
            input: (
              <Labelled label="Achievement">
                <SelectInput value={key} onChange={({ target }) => setChosen(target.value)}>
                  <Options of={achievements.map((achievement) => [achievement.key!, achievement.name])} />
                </SelectInput>
              </Labelled>
            ),
            run: each((id) =>
              answer(
                application.POST('/v1/achievements/{key}/complete', {
                  params: { path: { key } },
                  body: { user: { id } },
                }),
              ),
            ),
            done: (users: string) => `Awarded to ${users}.`,
          },
        ]
      : []),
    {
      label: 'Delete',
      danger: true,
      size: 1,
      about: (users) => `Deletes all data of ${users}, including places on leaderboards. This cannot be undone.`,
      run: each((id) => one(admin.DELETE('/v1/users/{id}', { params: { path: { id } } }))),
      done: (users) => `Deleted: ${users}.`,
    },
  ];
}
