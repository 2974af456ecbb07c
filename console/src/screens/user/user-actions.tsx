import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { answer, one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import { managedUserQuery, type User } from '../../api/queries.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/dialogs.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { EditUser } from './edit-user.tsx';
import { SendEvent } from './send-event.tsx';

type Open = 'event' | 'edit' | 'reset' | 'delete' | null;

/** Gives the browser a file to keep. */
function save(name: string, content: unknown): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify(content, null, 2)], { type: 'application/json' }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function UserActions({ user }: { user: User }) {
  const { id } = user;
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const navigate = useNavigate();
  const reset = useChange({
    run: () => one(admin.POST('/v1/streaks/reset', { body: { users: [{ id }] } })),
    done: 'The streak was reset.',
  });
  const exported = useChange({
    run: async () =>
      save(`user-${id}.json`, await answer(admin.GET('/v1/users/{id}/export', { params: { path: { id } } }))),
  });
  const remove = useChange({
    run: async () => {
      await one(admin.DELETE('/v1/users/{id}', { params: { path: { id } } }));
      await navigate({ to: '/users' });
    },
    done: 'The user is deleted.',
  });
  const managed = useQuery(managedUserQuery(id));
  const hidden = managed.data?.hidden === true;
  const hide = useChange({
    run: () => answer(admin.PATCH('/v1/users/{id}', { params: { path: { id } }, body: { hidden: !hidden } })),
    done: hidden ? 'The user is on leaderboards again.' : 'The user is hidden from leaderboards.',
  });
  return (
    <>
      <Button onClick={() => setOpen('event')}>Send an event</Button>
      <Button onClick={() => setOpen('edit')}>Edit</Button>
      <Menu
        trigger={
          <Button>
            More <ChevronDown size={14} aria-hidden />
          </Button>
        }
      >
        <MenuItem onClick={() => exported.mutate()}>Export everything</MenuItem>
        <MenuItem onClick={() => hide.mutate()}>{hidden ? 'Show on leaderboards' : 'Hide from leaderboards'}</MenuItem>
        <MenuItem onClick={() => setOpen('reset')}>Reset the streak …</MenuItem>
        <MenuItem danger onClick={() => setOpen('delete')}>
          Delete the user …
        </MenuItem>
      </Menu>
      <SendEvent id={id} open={open === 'event'} onClose={close} />
      <EditUser user={user} open={open === 'edit'} onClose={close} />
      <Confirm
        open={open === 'reset'}
        onClose={close}
        title="Reset the streak?"
        action="Reset"
        busy={reset.isPending}
        onConfirm={() => reset.mutate(undefined, { onSettled: close })}
      >
        It is 0 then, as if it had been lost now. It can be restored.
      </Confirm>
      <Confirm
        open={open === 'delete'}
        onClose={close}
        title={`Delete ${id}?`}
        action="Delete for good"
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined, { onSettled: close })}
      >
        Everything that is held about the user goes, also from leaderboards. This cannot be undone.
      </Confirm>
    </>
  );
}
