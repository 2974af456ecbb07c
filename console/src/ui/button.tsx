import type { ComponentProps } from 'react';

const LOOKS = {
  plain: 'border-line bg-surface hover:bg-hover',
  primary: 'border-transparent bg-accent text-on-accent hover:bg-accent-strong',
  danger: 'border-line bg-surface text-danger hover:bg-danger-soft',
  bare: 'border-transparent bg-transparent text-muted hover:bg-hover hover:text-text',
} as const;

/** Button styles, for links that look like buttons. */
export const buttonLook = (look: keyof typeof LOOKS = 'plain'): string =>
  `inline-flex h-8 items-center justify-center gap-1.5 rounded-md border px-2.5 text-sm font-medium whitespace-nowrap transition-colors disabled:opacity-50 ${LOOKS[look]}`;

type ButtonProps = ComponentProps<'button'> & { look?: keyof typeof LOOKS };

export function Button({ look = 'plain', className = '', ...rest }: ButtonProps) {
  return <button type="button" {...rest} className={`${buttonLook(look)} ${className}`} />;
}
