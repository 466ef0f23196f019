/* Learning rate schedules: a factor per step. */
#include <lib/train/train.h>

/* Vaswani et al. 2017, eq. 3. */
static double transformer_warmup(const gnn_schedule_t *schedule, double step)
{
    double width = schedule->width > 0 ? schedule->width : 1;
    double falling = 1 / sqrt(step);
    if (schedule->warmup <= 0)
        return falling / sqrt(width);
    double rising = step * pow((double)schedule->warmup, -1.5);
    return (falling < rising ? falling : rising) / sqrt(width);
}

double gnn_schedule_factor(const gnn_schedule_t *schedule, int64_t step)
{
    const double pi = 3.14159265358979323846;
    if (!schedule)
        return 1;
    if (step < 1)
        step = 1;
    if (schedule->kind == GNN_SCHEDULE_WARMUP)
        return transformer_warmup(schedule, (double)step);
    if (step <= schedule->warmup)
        return (double)step / (double)schedule->warmup;
    /* Steps after the warm-up, counted as by PyTorch's schedulers. */
    int64_t done = step - 1 - (schedule->warmup > 0 ? schedule->warmup : 0);
    if (schedule->kind == GNN_SCHEDULE_CONSTANT || schedule->period <= 0)
        return 1;
    if (schedule->kind == GNN_SCHEDULE_STEP)
        return pow(schedule->gamma == 0 ? 0.1 : schedule->gamma, (double)(done / schedule->period));
    double t = done < schedule->period ? (double)done / (double)schedule->period : 1;
    const double left = schedule->kind == GNN_SCHEDULE_LINEAR ? 1 - t : (1 + cos(pi * t)) / 2;
    return schedule->gamma + (1 - schedule->gamma) * left;
}
